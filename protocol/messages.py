"""The messages of the protocol, as msgspec structs that `type` tells apart. docs/protocol.md explains each. The server
refuses unknown fields in messages from clients; clients ignore unknown fields.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from protocol.display_names import DISPLAY_FORM, MAX_DISPLAY_LENGTH
from protocol.field_errors import SECRET
from protocol.names import MATCH_PATTERN, NAME_DESCRIPTION, NAME_PATTERN, NOTE_PATTERN, TEXT_PATTERN

PROTOCOL_VERSION = 1
MAX_CLIENT_FRAME_BYTES = 16 * 1024
MAX_SERVER_FRAME_BYTES = 1024 * 1024
MAX_SLOTS = 64
MAX_STRIKES = 3
MAX_BAD_MESSAGES = 20
MAX_NOTE_CHARS = 256
MIN_TOKEN_CHARS, MAX_TOKEN_CHARS = 16, 128
MAX_CLOCK_MS = 24 * 3600 * 1000
"""Maximum bank and maximum increment of a new match: one day."""

BotName = Annotated[str, Meta(pattern=NAME_PATTERN, description=NAME_DESCRIPTION)]
MatchId = Annotated[str, Meta(pattern=MATCH_PATTERN, description="the id of a match, as in its start")]
Label = Annotated[
    str,
    Meta(
        max_length=64,
        pattern=TEXT_PATTERN,
        description="at most 64 characters, without control or invisible characters",
    ),
]
DisplayName = Annotated[str, Meta(max_length=MAX_DISPLAY_LENGTH, pattern=TEXT_PATTERN, description=DISPLAY_FORM)]
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
"""Presets that an open seek may name."""
MAX_WARMING_GAMES = 64
GameName = Annotated[str, Meta(max_length=64, description="the name of a game, as in welcome")]
Followed = Annotated[str, Meta(max_length=40, description="the id of a match, or * for all")]
Nonce = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$(?!\n)", description="16 bytes in lower-case hex, 32 digits")]
Hex32 = Annotated[str, Meta(description="32 bytes, lower-case hex")]
Ply = Annotated[int, Meta(ge=0)]
Seat = Annotated[int, Meta(ge=0)]
MAX_TIME_MS = 2**53 - 1
"""Maximum milliseconds in a time: JSON readers distinguish all integers up to here."""
Milliseconds = Annotated[int, Meta(ge=0, le=MAX_TIME_MS)]


CHANCE = -1
"""The seat of an event without a player, such as a deal."""


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Something that happened at `ply`: a move, a deal (seat −1), a round in which several moved at once (seat −1,
    their `moves` by seat), or a seat that left (`out` says why). `strikes` are the seats whose moves were refused since
    the event before, each as often, in their order; the first event of a match has them always.
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
    """The clock of a match: each seat's bank at the start, and what an accepted move adds."""

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
    """Who sits on a seat, with the rating it brings; `display` is what people call who plays."""

    bot: str
    display: str = ""
    version: str = ""
    mu: float | None = None
    sigma: float | None = None


class Outcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a match ended for one seat. The ratings are there when it was rated before `end` was sent; `payoff`, the mean
    that it was paid a round, over so many `rounds`, where that is the result.
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
    """What a bot says of its own thinking; kept in the record, shown in replays."""

    value: float | None = None
    depth: Annotated[int, Meta(ge=0)] | None = None
    nodes: Annotated[int, Meta(ge=0)] | None = None
    note: Note | None = None


class Limits(Struct, frozen=True, kw_only=True):
    """What this server allows on this connection."""

    max_message: int
    strikes: int
    slots: int


class ListedSeek(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A seek in force, in a listing. `preset` is there where its config is one; `unknown` were never here."""

    game: str
    preset: str | None = None
    rated: bool = False
    open: bool = False
    presets: list[str] = []
    private: bool = False
    opponents: list[str] = []
    unknown: list[str] = []


class ListedBot(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who is here, in a listing: in how many matches it plays, what it seeks, how long the ladder's pace holds that.

    `display` is what people call who plays, `person` that the name is a person's. For the games of `warming` it has
    warmed up for `warming_s` seconds.
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
    """A match under way, in a listing; `seats` are the names in seat order."""

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
    """The first message of a connection. Without `bot` the client is a watcher; a `person` plays under a name
    that was not rated yet, or is a person's. `display` is what people call who plays: it counts where the name is
    registered by this very message.
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
    """Ask for a match. Answered by `start` carrying this id, or by `error` with `ref`.

    One that is `open` takes any match of the game, or only those of `presets` where it names some; one that is
    `private` only who names its bot; `opponent` is short for `opponents` with one name.
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
    """Take a seek back."""

    id: RequestId


class Warming(FromClient, frozen=True, kw_only=True):
    """Say for which games a bot warms up that it is going to seek; with none, that it has done so."""

    games: Annotated[list[GameName], Meta(max_length=MAX_WARMING_GAMES)] = []


class Ready(FromClient, frozen=True, kw_only=True):
    """The seat is ready to play; `nonce` is mixed into the dice."""

    match: MatchId
    nonce: Nonce | None = None


class Move(FromClient, frozen=True, kw_only=True):
    """The answer to the `turn` of the same `ply`. `move` and `info` are checked by the game and the referee."""

    match: MatchId
    ply: Ply
    move: Annotated[Any, Meta(description="a map, in the form of the game's moves")]
    info: Any = None


class Resign(FromClient, frozen=True, kw_only=True):
    """Give a match up; with `failure` because the bot's program can't go on, for this reason."""

    match: MatchId
    failure: Note | None = None


class Watch(FromClient, frozen=True, kw_only=True):
    """Follow a match, or with "*" hear of every start and end."""

    match: Followed


class Unwatch(FromClient, frozen=True, kw_only=True):
    """Stop following."""

    match: Followed


class List(FromClient, frozen=True, kw_only=True):
    """Ask who is here and which matches are under way."""


class Welcome(FromServer, frozen=True, kw_only=True):
    """The answer to `hello`. `token` is there once, when the arena made it, and `person` where the name is a person's.
    An arena of several nodes says the `url` of this one, in `nodes` those of the others, and `elsewhere` where of these
    the bot has matches.
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
    """A match begins, or is told again after a reconnect (`resumed`). Answer `ready` within 10 s.

    `preset` is there where the config is one. A seat whose connection is away for `away_ms` drops out; 0: when its
    clock has run out.
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


class Turn(FromServer, frozen=True, kw_only=True):
    """The state, as far as you may see it; answer with `move` where `to_move` is your seat, or has it among others."""

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

    @property
    def movers(self) -> tuple[int, ...]:
        """The seats that are to move."""
        return (self.to_move,) if isinstance(self.to_move, int) else self.to_move


class Rejected(FromServer, frozen=True, kw_only=True):
    """A move that was not accepted, and why."""

    match: str
    ply: int
    code: str
    message: str
    strikes_left: int | None = None
    clock_ms: int | None = None


class End(FromServer, frozen=True, kw_only=True):
    """The match is over: what happened since the last turn, the result, and the seed that opens the dice. `strikes` are
    those of a match that was called off of which no event told, by their seats.
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
    """The answer to `list`: who is here and what is played, or as many as there is room for; other nodes of the arena,
    whose URLs are `elsewhere`, have others.
    """

    bots: list[ListedBot]
    matches: list[ListedMatch]
    more_bots: int = 0
    more_matches: int = 0
    elsewhere: list[str] = []


class Error(FromServer, frozen=True, kw_only=True):
    """Something else went wrong; `fatal` says that the connection is about to close, `url` where to go `elsewhere`."""

    code: str
    message: str
    ref: str | None = None
    fatal: bool = False
    url: str | None = None


ClientMessage = Hello | Seek | Unseek | Warming | Ready | Move | Resign | Watch | Unwatch | List
ServerMessage = Welcome | Unseeked | Start | Turn | Rejected | End | Listing | Error
