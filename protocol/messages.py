"""The messages of the protocol, as msgspec structs that `type` tells apart. docs/protocol.md explains each. The server
refuses unknown fields in messages from clients; clients ignore unknown fields.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from protocol.display_names import DISPLAY_NAME_DESCRIPTION, MAX_DISPLAY_LENGTH
from protocol.field_errors import SECRET
from protocol.names import MATCH_ID_PATTERN, NAME_DESCRIPTION, NAME_PATTERN, NOTE_PATTERN, TEXT_PATTERN

PROTOCOL_VERSION = 1
"""The version of the protocol."""
MAX_CLIENT_FRAME_BYTES = 16 * 1024
"""Maximum size in bytes of a frame from a client."""
MAX_SERVER_FRAME_BYTES = 1024 * 1024
"""Maximum size in bytes of a frame from the server."""
MAX_SLOTS = 64
"""Maximum number of matches that a bot may play at a time."""
MAX_STRIKES = 3
"""Number of refused moves after which a seat drops out."""
MAX_BAD_MESSAGES = 20
"""Number of bad messages after which the arena closes a connection."""
MAX_NOTE_CHARS = 256
"""Maximum characters of the note in an `info`."""
MIN_TOKEN_CHARS, MAX_TOKEN_CHARS = 16, 128
"""`MIN_TOKEN_CHARS` and `MAX_TOKEN_CHARS` are the minimum and maximum number of characters of a token."""
MAX_CLOCK_MS = 24 * 3600 * 1000
"""Maximum of the bank and of the increment of a new match's clock, in milliseconds: one day."""

BotName = Annotated[str, Meta(pattern=NAME_PATTERN, description=NAME_DESCRIPTION)]
MatchId = Annotated[str, Meta(pattern=MATCH_ID_PATTERN, description="the id of a match, as in its start")]
Label = Annotated[
    str,
    Meta(
        max_length=64,
        pattern=TEXT_PATTERN,
        description="at most 64 characters, without control or invisible characters",
    ),
]
DisplayName = Annotated[
    str, Meta(max_length=MAX_DISPLAY_LENGTH, pattern=TEXT_PATTERN, description=DISPLAY_NAME_DESCRIPTION)
]
Token = Annotated[
    str,
    Meta(
        min_length=MIN_TOKEN_CHARS,
        max_length=MAX_TOKEN_CHARS,
        description=f"{MIN_TOKEN_CHARS} to {MAX_TOKEN_CHARS} characters",
        extra=SECRET,
    ),
]
RequestId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        pattern=TEXT_PATTERN,
        description="a word of your own, 1 to 64 characters, without control or invisible characters",
    ),
]
PresetName = Annotated[str, Meta(max_length=64, description="the name of a preset of the game")]
MAX_PRESETS = 64
"""Maximum number of presets that an open seek may name."""
MAX_WARMING_GAMES = 64
"""Maximum number of games in a `warming` message."""
GameName = Annotated[str, Meta(max_length=64, description="the name of a game, as in welcome")]
Followed = Annotated[str, Meta(max_length=40, description="the id of a match, or * for all")]
Nonce = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$(?!\n)", description="16 bytes in lower-case hex, 32 digits")]
Hex32 = Annotated[str, Meta(description="32 bytes, lower-case hex")]


class RulesStamp(Struct, frozen=True):
    """The version of the rules of a game, and the digest of their sources. Only games have it that do not come with
    bot-arena.
    """

    version: str
    digest: Hex32


Ply = Annotated[int, Meta(ge=0)]
Seat = Annotated[int, Meta(ge=0)]
MAX_TIME_MS = 2**53 - 1
"""Maximum of any time in milliseconds. All JSON readers represent integers up to this one exactly."""
Milliseconds = Annotated[int, Meta(ge=0, le=MAX_TIME_MS)]


CHANCE = -1
"""The number in place of a seat in events without a player, such as a deal."""


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An event at `ply`: a move, a deal (seat −1), a simultaneous round (seat −1, `moves` by seat), or a seat that
    drops out (`out` is the reason).

    `strikes` are the seats of the moves refused since the last event, one entry per strike, in seat order. The first
    event of a match always has it.
    """

    ply: int
    seat: int
    move: dict[str, Any] | None = None
    moves: list[dict[str, Any] | None] | None = None
    dice: list[list[int]] | None = None
    result: dict[str, Any] | None = None
    out: str | None = None
    strikes: list[int] | None = None


class Clock(Struct, frozen=True, kw_only=True):
    """The clock of a match: each seat's bank at the start, and the increment for each accepted move."""

    bank_ms: Milliseconds
    increment_ms: Milliseconds


Note = Annotated[
    str,
    Meta(
        max_length=MAX_NOTE_CHARS,
        pattern=NOTE_PATTERN,
        description=f"at most {MAX_NOTE_CHARS} characters, without control or invisible ones but tabs and line feeds",
    ),
]


class Player(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The bot in a seat, with its rating before the match. `display` is the display name of the player."""

    bot: str
    display: str = ""
    version: str = ""
    mu: float | None = None
    sigma: float | None = None


class Outcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a match for one seat.

    The ratings are present if the match was rated before `end` was sent. If payoffs are the result, `payoff` is the
    seat's mean payoff per round, over this number of `rounds`.
    """

    bot: str
    rank: int
    reason: str
    payoff: float | None = None
    rounds: int | None = None
    mu_before: float | None = None
    sigma_before: float | None = None
    mu_after: float | None = None
    sigma_after: float | None = None


class Info(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A bot's report about its own thinking. It is kept in the record and shown in replays."""

    value: float | None = None
    depth: Annotated[int, Meta(ge=0)] | None = None
    nodes: Annotated[int, Meta(ge=0)] | None = None
    note: Note | None = None


class Limits(Struct, frozen=True, kw_only=True):
    """The server's limits for this connection."""

    max_message: int
    strikes: int
    slots: int


class ListedSeek(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pending seek in a listing. `preset` is present if its config is a preset. `unknown` are the named opponents
    that have never connected.
    """

    game: str
    preset: str | None = None
    rated: bool = False
    open: bool = False
    presets: list[str] = []
    private: bool = False
    opponents: list[str] = []
    unknown: list[str] = []


class ListedBot(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A connected bot in a listing: its number of matches, its seeks, and `pace_s`, the seconds until the ladder's rate
    limit lets it begin another match.

    `display` is the display name of the player. `person` is true if the name is a person's. The bot has been preparing
    for the games of `warming` for `warming_s` seconds.
    """

    bot: str
    display: str = ""
    person: bool = False
    version: str = ""
    client: str = ""
    playing: int = 0
    seeks: list[ListedSeek] = []
    pace_s: int = 0
    warming: list[str] = []
    warming_s: int = 0


class ListedMatch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match in progress, in a listing. `seats` are the names in seat order."""

    match: str
    game: str
    preset: str | None = None
    seats: list[str]
    ply: int
    started: str
    rated: bool
    watchers: int = 0


# Messages and events are trees without cycles, so the garbage collector need not track them.
class FromClient(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="type",
    tag=str.lower,
    gc=False,
):
    """A message from a client."""


class FromServer(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=str.lower, gc=False):
    """A message from the server."""


class Hello(FromClient, frozen=True, kw_only=True):
    """The first message of a connection. A client without `bot` is a spectator.

    A `person` plays under a name that is unrated or already a person's. `display` is the display name of the player. It
    counts only in the `hello` that registers the name.
    """

    bot: BotName | None = None
    token: Token | None = None
    version: Label = ""
    client: Label = ""
    slots: Annotated[int, Meta(ge=1, le=MAX_SLOTS)] = 1
    follow: bool = False
    person: bool = False
    display: DisplayName = ""


class Seek(FromClient, frozen=True, kw_only=True):
    """A request for a match. The answer is `start` with this id in `seek`, or `error` with it in `ref`.

    An `open` seek takes any match of the game, or only those of `presets` if it lists some. A `private` one meets only
    a seek that names its bot. `opponent` is short for `opponents` with one name.
    """

    id: RequestId
    game: GameName
    config: dict[str, Any] = {}
    rated: bool = True
    opponent: BotName | None = None
    opponents: list[BotName] = []
    open: bool = False
    presets: Annotated[list[PresetName], Meta(max_length=MAX_PRESETS)] = []
    slow: bool = False
    private: bool = False


class Unseek(FromClient, frozen=True, kw_only=True):
    """Withdraw a seek."""

    id: RequestId


class Warming(FromClient, frozen=True, kw_only=True):
    """Announce for which games the bot is preparing before it seeks them. An empty list says that it is done."""

    games: Annotated[list[GameName], Meta(max_length=MAX_WARMING_GAMES)] = []


class Ready(FromClient, frozen=True, kw_only=True):
    """The seat is ready to play. `nonce` is mixed into the dice."""

    match: MatchId
    nonce: Nonce | None = None


class Move(FromClient, frozen=True, kw_only=True):
    """The answer to the `turn` of the same `ply`. The game validates `move`, and the referee `info`."""

    match: MatchId
    ply: Ply
    move: Annotated[Any, Meta(description="a map, in the form of the game's moves")]
    info: Any = None


class Resign(FromClient, frozen=True, kw_only=True):
    """Resign a match. `failure` is the reason why the bot's program cannot go on."""

    match: MatchId
    failure: Note | None = None


class Watch(FromClient, frozen=True, kw_only=True):
    """Follow a match, or with "*" the start and end of every match."""

    match: Followed


class Unwatch(FromClient, frozen=True, kw_only=True):
    """Stop following a match."""

    match: Followed


class List(FromClient, frozen=True, kw_only=True):
    """Request the connected bots and the matches in progress."""


class Welcome(FromServer, frozen=True, kw_only=True):
    """The answer to `hello`.

    `token` is present once, when the arena generates it. `person` is true if the name is a person's. In an arena of
    several nodes, `url` is this node, `nodes` are the others, and `elsewhere` are those on which the bot has matches.
    """

    protocol: int = field(default_factory=lambda: PROTOCOL_VERSION)  # a factory, so that the field is always sent
    bot: str | None = None
    token: str | None = None
    person: bool = False
    games: list[str]
    limits: Limits
    resumed: list[str]
    url: str | None = None
    nodes: list[str] = []
    elsewhere: list[str] = []


class Unseeked(FromServer, frozen=True, kw_only=True):
    """The seek is withdrawn."""

    id: str


class Start(FromServer, frozen=True, kw_only=True):
    """A match begins, or is sent again after a reconnect (`resumed`). Answer `ready` within 10 s.

    `preset` is present if the config is a preset. A seat that is disconnected for `away_ms` drops out; if that is 0,
    when its clock runs out.
    """

    match: str
    seek: str | None = None
    game: str
    preset: str | None = None
    config: dict[str, Any]
    seat: int | None = None
    seats: list[Player]
    clock: Clock
    away_ms: int = 0
    commitment: Hex32
    rated: bool
    resumed: bool = False
    rules: RulesStamp | None = None
    """The rules by which the match is refereed; None if they come with bot-arena."""


class Turn(FromServer, frozen=True, kw_only=True):
    """The state, as far as you may see it. Answer with `move` if `to_move` is your seat or contains it."""

    match: str
    ply: int
    to_move: int | tuple[int, ...]
    state: dict[str, Any]
    events: list[Event]
    clock: list[int]
    legal: list[dict[str, Any]] | None = None
    options: dict[str, Any] | None = None
    digest: Hex32
    nonces: list[str] | None = None
    states: list[dict[str, Any]] | None = None
    """The states before the last of `events`, for a spectator of a game that does not come with bot-arena."""

    @property
    def movers(self) -> tuple[int, ...]:
        """The seats that are to move."""
        return (self.to_move,) if isinstance(self.to_move, int) else self.to_move


class Rejected(FromServer, frozen=True, kw_only=True):
    """A move that was refused, and the reason."""

    match: str
    ply: int
    code: str
    message: str
    strikes_left: int | None = None
    clock_ms: int | None = None


class End(FromServer, frozen=True, kw_only=True):
    """The match is over: the events since the last turn, the result, and the seed that reveals the dice.

    `strikes` are the seats of the strikes after the last event of a void match.
    """

    match: str
    ply: int
    events: list[Event]
    state: dict[str, Any]
    digest: Hex32
    ranks: list[int]
    reason: str
    seats: list[Outcome]
    seed: str | None = None
    nonces: list[str]
    record: str
    strikes: list[int] | None = None


class Listing(FromServer, frozen=True, kw_only=True):
    """The answer to `list`: connected bots and matches in progress, as many as fit in the message. Other nodes of the
    arena, at the URLs `elsewhere`, list their own.
    """

    bots: list[ListedBot]
    matches: list[ListedMatch]
    more_bots: int = 0
    more_matches: int = 0
    elsewhere: list[str] = []


class Error(FromServer, frozen=True, kw_only=True):
    """Any other error. `fatal` means that the connection is about to close. `url` is the node to connect to if the code
    is `elsewhere`.
    """

    code: str
    message: str
    ref: str | None = None
    fatal: bool = False
    url: str | None = None


ClientMessage = Hello | Seek | Unseek | Warming | Ready | Move | Resign | Watch | Unwatch | List
ServerMessage = Welcome | Unseeked | Start | Turn | Rejected | End | Listing | Error
