"""The lines of a match record: header, a line for every event, footer; how they are written.

The format is described in docs/records.md. A journal (arena/host/journal.py) is the same lines while the match is on.
"""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from protocol import VERSION
from protocol.dice import commitment
from protocol.games.base import Game
from protocol.messages import Clock, Event, Info, MatchId, Milliseconds
from referee.result import Ratings

FORMAT = 2
FORMATS = (1, FORMAT)
"""Those that are read."""
TELLS_STRIKES = 2
"""The first format in which events tell of strikes, and so the digests."""
MOST_BYTES = 64 * 1024 * 1024
"""What a record may unpack to. The longest matches have room in it, with as much `info` as is kept."""
MOST_INFO = 8 * 1024 * 1024
"""Bytes of `info` that are kept of a match."""

_Hex32 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_Nonce = Annotated[str, Meta(pattern="^([0-9a-f]{32})?$")]


class RecordedSeat(Struct, frozen=True, kw_only=True):
    """Who sat there."""

    bot: str
    version: str = ""


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=str.lower, gc=False):
    """A line of a record or a journal."""


class Header(Line, frozen=True, kw_only=True):
    """What was fixed before the first event."""

    format: int
    version: str
    match: MatchId
    game: str
    config: dict[str, Any]
    seats: list[RecordedSeat]
    commitment: _Hex32
    rated: bool
    pool: str | None = None
    """Where it is rated. Headers of before there was a pool for each preset have none."""
    clock: Clock
    away_ms: Milliseconds = 0
    """How long a seat's connection may be away before it has dropped out; 0: as long as its clock lasts."""
    started: str
    tournament: str | None = None
    place: int | None = None


class Ply(Line, frozen=True, kw_only=True):
    """An event, what each seat's clock showed after it (ms), the digest after it, and the milliseconds that the seat
    to move before it had been given back."""

    event: Event
    clock: list[Milliseconds]
    digest: _Hex32
    given: Milliseconds = 0
    info: Info | None = None


class Sealed(Line, frozen=True, kw_only=True):
    """A move in a round in which several move at once, before the round's event, which has all of them. Not part of the
    digest chain. What else there is, is as in the line of a move."""

    ply: int
    seat: int
    move: dict[str, Any]
    clock: list[Milliseconds]
    given: Milliseconds = 0
    info: Info | None = None


class Strike(Line, frozen=True, kw_only=True):
    """A move that cost its seat a strike. Not part of the digest chain."""

    ply: int
    seat: int
    code: str
    message: str


class Footer(Line, frozen=True, kw_only=True):
    """The result, and what opens the dice."""

    ranks: list[int]
    reason: str
    reasons: list[str]
    payoffs: list[float | None] | None = None
    """What each seat was paid a round, in the mean of so many `rounds`; only where payoffs are the result."""
    rounds: list[int] | None = None
    plies: int
    digest: _Hex32
    seed: _Hex32
    nonces: list[_Nonce]
    finished: str
    ratings: Ratings | None = None


class Secret(Line, frozen=True, kw_only=True):
    """Only in a journal: the seed, before it may be told."""

    seed: _Hex32


class Begun(Line, frozen=True, kw_only=True):
    """Only in a journal: the clocks run, these nonces are mixed in, and these seats drop out at once, for a reason."""

    nonces: list[_Nonce]
    out: dict[int, str] = {}


class Void(Line, frozen=True, kw_only=True):
    """Only in a journal: the match was called off."""


Between = Ply | Sealed | Strike
"""What is between the header and the footer of a record."""
AnyLine = Header | Ply | Sealed | Strike | Footer | Secret | Begun | Void
_encode = msgspec.json.Encoder().encode
_PRIVATE = tuple(b'{"type":"%s"' % tag for tag in (b"secret", b"begun", b"void"))


class Record(NamedTuple):
    """A finished match, whole."""

    header: Header
    lines: Collection[Between]
    footer: Footer

    @property
    def payoffs(self) -> list[tuple[float | None, int | None]]:
        """What each seat was paid a round, and in how many, as the footer says; None where it says nothing."""
        nothing = [None] * len(self.header.seats)
        return list(zip(self.footer.payoffs or nothing, self.footer.rounds or nothing, strict=True))

    @property
    def plies(self) -> Iterator[Ply]:
        """The events, without the strikes."""
        return (line for line in self.lines if isinstance(line, Ply))


def write_line(line: AnyLine) -> bytes:
    """One line, with its line feed."""
    return _encode(line) + b"\n"


def size_of(info: Info) -> int:
    """The bytes that an `info` takes in its line."""
    return len(_encode(info))


def public(line: bytes) -> bool:
    """Whether a line of a journal goes into the record."""
    return not line.startswith(_PRIVATE)


def pack(lines: Iterable[bytes], footer: Footer) -> bytes:
    """A closed record: the lines from the header on, the footer, gzip. The same record gives the same bytes."""
    return packed(b"".join(lines) + write_line(footer))


def packed(text: bytes) -> bytes:
    """The lines of a record as they are kept: gzip."""
    return gzip.compress(text, compresslevel=3, mtime=0)


def header_of(
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
    """The header of a match that this version is about to referee; it is rated where a `pool` is given."""
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
    )
