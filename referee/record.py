"""The lines of a match record (header, one line per event, footer), and functions that write them. docs/records.md
describes the format. A journal (arena/host/journal.py) has the same lines while the match is played.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from protocol import VERSION
from protocol.dice import commitment
from protocol.display import short_repr
from protocol.games import game_spec, rules_spec
from protocol.games.base import Game
from protocol.games.spec import GameSpec
from protocol.messages import Clock, Event, Info, MatchId, Milliseconds, RulesStamp
from referee.result import Ratings

FORMAT = 2
"""The format of records."""
RECORD_COMPRESSION_LEVEL = 3
"""The level at which gzip packs records."""
GZIP_WINDOW_BITS = 31
"""The window bits that make zlib write gzip, with its largest window and the same header in every version of Python."""
MAX_RECORD_BYTES = 64 * 1024 * 1024
"""Maximum bytes of an unpacked record. The longest matches fit, including the `MAX_INFO_BYTES` of `info`."""
MAX_INFO_BYTES = 8 * 1024 * 1024
"""Maximum bytes of `info` that the record of a match keeps."""
SHOWN_DIGEST_CHARS = 12
"""Number of characters of the digest of rules in messages."""
MAX_STATE_BYTES = 128 * 1024
"""Maximum bytes of a state in a record."""
MAX_STATES_BYTES = 32 * 1024 * 1024
"""Maximum bytes of all states in a record."""

_Hex32 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_Nonce = Annotated[str, Meta(pattern="^([0-9a-f]{32})?$")]


class RecordedSeat(Struct, frozen=True, kw_only=True):
    """The bot in a seat, as the header of a record names it."""

    bot: str
    version: str = ""


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=str.lower, gc=False):
    """A line of a record or a journal."""


class Header(Line, frozen=True, kw_only=True):
    """The first line of a record: the facts that are fixed before the first event."""

    format: int
    version: str
    match: MatchId
    game: str
    config: dict[str, Any]
    seats: list[RecordedSeat]
    commitment: _Hex32
    rated: bool
    pool: str | None = None
    """The pool in which the match is rated; None if it is unrated."""
    clock: Clock
    away_ms: Milliseconds = 0
    """The milliseconds that a seat may be disconnected before it drops out; 0 if only its clock limits them."""
    started: str
    tournament: str | None = None
    place: int | None = None
    rules: RulesStamp | None = None
    """The rules that referee the match. None if they come with bot-arena; then the record has no states."""


class Ply(Line, frozen=True, kw_only=True):
    """The line of an event, with the clocks and the digest after the event. `given` is the lag compensation of the seat
    that was to move. Times are in milliseconds. `state` is the encoded state after the event, if the header has
    `rules`.
    """

    event: Event
    clock: list[Milliseconds]
    digest: _Hex32
    given: Milliseconds = 0
    info: Info | None = None
    state: dict[str, Any] | None = None


class Sealed(Line, frozen=True, kw_only=True):
    """The line of one seat's move in a simultaneous round. The event of the round, which has the moves of all seats,
    comes later.

    This line is not part of the digest chain. It has fields with the same meaning as in `Ply`.
    """

    ply: int
    seat: int
    move: dict[str, Any]
    clock: list[Milliseconds]
    given: Milliseconds = 0
    info: Info | None = None


class Strike(Line, frozen=True, kw_only=True):
    """The line of a refused move, which cost its seat a strike. It is not part of the digest chain."""

    ply: int
    seat: int
    code: str
    message: str


class Footer(Line, frozen=True, kw_only=True):
    """The last line of a record: the result, and the values that reveal the dice."""

    ranks: list[int]
    reason: str
    reasons: list[str]
    payoffs: list[float | None] | None = None
    """Each seat's mean payoff per round; the field `rounds` has the numbers of rounds. None if ranks are the result."""
    rounds: list[int] | None = None
    plies: int
    digest: _Hex32
    seed: _Hex32
    nonces: list[_Nonce]
    finished: str
    ratings: Ratings | None = None


class Secret(Line, frozen=True, kw_only=True):
    """The line with the seed of the match. Only a journal has it: the seed is secret until the match is over."""

    seed: _Hex32


class Begun(Line, frozen=True, kw_only=True):
    """The line about the start of play: the nonces that the dice use, and the seats that drop out at once, each with
    the reason. Only a journal has it.
    """

    nonces: list[_Nonce]
    out: dict[int, str] = {}


class Void(Line, frozen=True, kw_only=True):
    """The line that says that the match was called off. Only a journal has it."""


EventLine = Ply | Sealed | Strike
"""A line between the header and the footer of a record."""
AnyLine = Header | Ply | Sealed | Strike | Footer | Secret | Begun | Void
_encode = msgspec.json.Encoder().encode
_JOURNAL_ONLY_PREFIXES = tuple(b'{"type":"%s"' % tag for tag in (b"secret", b"begun", b"void"))
"""The beginnings of lines that only a journal has."""


class Record(NamedTuple):
    """The record of a finished match: the header, the lines between header and footer, and the footer."""

    header: Header
    lines: Collection[EventLine]
    footer: Footer

    @property
    def payoffs(self) -> list[tuple[float | None, int | None]]:
        """A pair for each seat: its mean payoff per round, and its number of rounds. The pair is (None, None) if the
        footer has no payoffs.
        """
        nothing = [None] * len(self.header.seats)
        return list(zip(self.footer.payoffs or nothing, self.footer.rounds or nothing, strict=True))

    @property
    def plies(self) -> Iterator[Ply]:
        """The lines of events, without strikes and sealed moves."""
        return (line for line in self.lines if isinstance(line, Ply))


def write_line(line: AnyLine) -> bytes:
    """Encode one line, with its line feed."""
    return _encode(line) + b"\n"


def encoded_size(value: Info | dict[str, Any]) -> int:
    """Return the number of bytes that an `info` or a state takes in its line."""
    return len(_encode(value))


def is_public(line: bytes) -> bool:
    """Return whether a line of a journal goes into the record."""
    return not line.startswith(_JOURNAL_ONLY_PREFIXES)


def pack_record(lines: Iterable[bytes], footer: Footer) -> bytes:
    """Build the gzipped bytes of a record from its lines and its footer. Equal records give equal bytes."""
    return compress_lines(b"".join(lines) + write_line(footer))


def compress_lines(text: bytes) -> bytes:
    """Compress the lines of a record with gzip, as the store keeps them."""
    return zlib.compress(text, RECORD_COMPRESSION_LEVEL, GZIP_WINDOW_BITS)


def stamp_of(game: str) -> RulesStamp | None:
    """Return the stamp of the rules of a game that are here; None if they come with bot-arena. Raise `UnknownGame`."""
    return _stamp(game_spec(game))


def _stamp(spec: GameSpec) -> RulesStamp | None:
    return RulesStamp(spec.version, spec.digest) if spec.digest else None


def describe_rules(stamp: RulesStamp | None) -> str:
    """Return the version and digest of rules in a few words."""
    if stamp is None:
        return "those that come with bot-arena"
    return f"version {short_repr(stamp.version)[1:-1]}, digest {stamp.digest[:SHOWN_DIGEST_CHARS]}"


def describe_other_rules(header: Header) -> str:
    """Return by which rules a match is refereed here, and by which it was made, if these are others. The game must be
    known. Return an empty text for the same rules, and for a record that does not name any.
    """
    if header.rules is None or (here := _stamp(rules_spec(header.game, header.rules.digest))) == header.rules:
        return ""
    return f"by other rules ({describe_rules(here)}) than it was made with ({describe_rules(header.rules)})"


def rules_digest(header: Header) -> str:
    """Return the digest of the rules of a match; empty if the header does not name any."""
    return "" if header.rules is None else header.rules.digest


def make_header(
    *,
    match: str,
    game: Game[Any, Any],
    seats: Sequence[RecordedSeat],
    seed: bytes,
    pool: str | None,
    clock: Clock,
    started: str,
    away_ms: int = 0,
    tournament: str | None = None,
    place: int | None = None,
) -> Header:
    """Build the header of a match that this version will referee; a match with a `pool` is rated."""
    return Header(
        format=FORMAT,
        version=VERSION,
        match=match,
        game=game.name,
        config=game.config,
        seats=list(seats),
        commitment=commitment(match, seed).hex(),
        rated=pool is not None,
        pool=pool,
        clock=clock,
        away_ms=away_ms,
        started=started,
        tournament=tournament,
        place=place,
        rules=stamp_of(game.name),
    )
