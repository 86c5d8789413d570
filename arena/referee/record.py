"""A match record: header, a line for every event, footer. Written as JSON lines, read back, verified from itself alone.

The format is described in docs/records.md. A journal (arena/server/journal.py) is the same lines while the match is on.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from arena.referee.course import Course
from arena.referee.result import Ratings
from protocol import VERSION
from protocol.dice import commitment
from protocol.errors import BadRecord, BotFault
from protocol.games import load
from protocol.games.base import Game
from protocol.messages import MAX_STRIKES, Clock, Event, Info, MatchId

FORMAT = 1
MOST_BYTES = 64 * 1024 * 1024
"""What a record may unpack to."""
LEAVING = ("resigned", "timeout", "illegal", "disconnected", "no_show")
"""Why a seat may drop out."""

_Hex32 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_Nonce = Annotated[str, Meta(pattern="^([0-9a-f]{32})?$")]


class RecordedSeat(Struct, frozen=True, kw_only=True):
    """Who sat there."""

    bot: str
    version: str = ""


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=str.lower):
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
    clock: Clock
    started: str
    tournament: str | None = None
    place: int | None = None


class Ply(Line, frozen=True, kw_only=True):
    """An event, what each seat's clock showed after it (ms), and the digest after it."""

    event: Event
    clock: list[int]
    digest: _Hex32
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


AnyLine = Header | Ply | Strike | Footer | Secret | Begun | Void
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(AnyLine).decode
_PRIVATE = tuple(b'{"type":"%s"' % tag for tag in (b"secret", b"begun", b"void"))


class _Opening(Struct, frozen=True):
    """What the first line of a record of any format says."""

    type: str
    format: int
    version: str = "an unknown version"


_decode_opening = msgspec.json.Decoder(_Opening).decode


class Record(NamedTuple):
    """A finished match, whole."""

    header: Header
    lines: list[Ply | Strike]
    footer: Footer

    @property
    def plies(self) -> list[Ply]:
        """The events, without the strikes."""
        return [line for line in self.lines if isinstance(line, Ply)]


def write_line(line: AnyLine) -> bytes:
    """One line, with its line feed."""
    return _encode(line) + b"\n"


def public(line: bytes) -> bool:
    """Whether a line of a journal goes into the record."""
    return not line.startswith(_PRIVATE)


def read_lines(lines: Iterable[bytes], name: str) -> list[AnyLine]:
    """The lines of a record or journal. Raises `BadRecord` with the line's number."""
    read: list[AnyLine] = []
    for number, line in enumerate(lines, 1):
        try:
            decoded = _decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as exc:
            _check_format(line, name)
            raise BadRecord(f"{name} is not a match record: line {number}: {exc}") from exc
        if isinstance(decoded, Header):
            _check_format(line, name)
        read.append(decoded)
    return read


def _check_format(line: bytes, name: str) -> None:
    """Refuse a header of another format, in which anything but its first fields may have changed."""
    try:
        opening = _decode_opening(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    if opening.type == "header" and opening.format != FORMAT:
        raise BadRecord(
            f"{name} has format {opening.format}, written by {opening.version}: this version reads {FORMAT}"
        )


def pack(lines: Iterable[bytes], footer: Footer) -> bytes:
    """A closed record: the lines from the header on, the footer, gzip. The same record gives the same bytes."""
    return gzip.compress(b"".join(lines) + write_line(footer), compresslevel=3, mtime=0)


def unpack(data: bytes, name: str) -> bytes:
    """The JSON lines of a record that may be gzipped. Raises `BadRecord`."""
    if data[:2] != b"\x1f\x8b":
        return data
    stream = zlib.decompressobj(wbits=31)
    try:
        text = stream.decompress(data, MOST_BYTES)
    except zlib.error as exc:
        raise BadRecord(f"{name} is damaged: {exc}") from exc
    if stream.unconsumed_tail:
        raise BadRecord(f"{name} unpacks to more than {MOST_BYTES} bytes: a match record is smaller")
    if not stream.eof:
        raise BadRecord(f"{name} is cut short: its gzip stream has no end")
    if stream.unused_data:
        raise BadRecord(f"{name} goes on for {len(stream.unused_data)} bytes after the end of its gzip stream")
    return text


def read(data: bytes, name: str) -> Record:
    """A record from its bytes, gzipped or not; `name` goes into messages. Raises `BadRecord`."""
    *rows, torn = unpack(data, name).split(b"\n")
    if not rows and not torn:
        raise BadRecord(f"{name} is empty: a match record begins with a header line")
    header = read_lines(rows[:1] or [torn], name)[0]  # alone first: it tells a newer format and a foreign file
    if not isinstance(header, Header):
        raise BadRecord(f"{name} is not a match record: line 1 is no header")
    if torn:
        raise BadRecord(f"{name} is cut short in line {len(rows) + 1}, which has no end")
    *lines, last = read_lines(rows, name)
    between = _between(lines[1:], name)
    if not isinstance(last, Footer):
        plies = [line.event.ply for line in (*between, last) if isinstance(line, Ply)]
        after = f"after ply {plies[-1]}" if plies else "after its header"
        raise BadRecord(f"{name} is cut short {after}: it has no footer")
    seats = len(header.seats)
    rated = seats if last.ratings is None else len(last.ratings.seats)
    for what, count in (("ranks", len(last.ranks)), ("reasons", len(last.reasons)), ("ratings", rated)):
        if count != seats:
            raise BadRecord(f"{name}: the footer has {count} {what}, the header {seats} seats")
    for line in between:
        if isinstance(line, Ply) and len(line.clock) != seats:
            raise BadRecord(f"{name}: ply {line.event.ply}: {len(line.clock)} clocks, the header has {seats} seats")
    return Record(header, between, last)


def _between(lines: Iterable[AnyLine], name: str) -> list[Ply | Strike]:
    between = []
    for number, line in enumerate(lines, 2):
        if not isinstance(line, (Ply, Strike)):
            raise BadRecord(f"{name}: line {number} is a {type(line).__name__.lower()}, where only events may be")
        between.append(line)
    return between


def header_of(
    *,
    match: str,
    game: str,
    config: dict[str, Any],
    seats: Sequence[RecordedSeat],
    seed: bytes,
    rated: bool,
    clock: Clock,
    started: str,
    tournament: str | None = None,
    place: int | None = None,
) -> Header:
    """The header of a match that this version is about to referee."""
    return Header(
        format=FORMAT,
        version=VERSION,
        match=match,
        game=game,
        config=config,
        seats=list(seats),
        commitment=commitment(match, seed).hex(),
        rated=rated,
        clock=clock,
        started=started,
        tournament=tournament,
        place=place,
    )


def is_rated(header: Header, reason: str, reasons: Iterable[str]) -> bool:
    """Whether a match that ended so is to be rated: not where it was called off or somebody did not show up."""
    return header.rated and {"void", "no_show"}.isdisjoint((reason, *reasons))


def course_of(header: Header, game: Game[Any, Any], seed: bytes, nonces: Sequence[bytes]) -> Course:
    """The match of a header, before it begins. Raises `BadRecord` where header, seed and nonces don't fit together."""
    if commitment(header.match, seed).hex() != header.commitment:
        raise BadRecord(f"{header.match}: the seed is not the one that the header's commitment promised before ply 0")
    for what, count in (("seats", len(header.seats)), ("nonces", len(nonces))):
        if count != game.seats:
            raise BadRecord(f"{header.match}: {count} {what}, but {header.game} has {game.seats} seats")
    names = [seat.bot for seat in header.seats]
    return Course(header.match, game, names, bytes.fromhex(header.commitment), seed, nonces)


def replay(record: Record) -> Iterator[tuple[Ply | Strike | None, Course]]:
    """The course before the first event (with None) and after every line. It is one course that goes on.

    Raises `BadRecord`, naming the ply, where a recorded event or digest is not what the rules and the dice give.
    """
    header, footer = record.header, record.footer
    try:
        game = load(header.game, header.config)
    except BotFault as exc:
        raise BadRecord(f"{header.match}: the header: {exc}") from exc
    course = course_of(header, game, bytes.fromhex(footer.seed), [bytes.fromhex(nonce) for nonce in footer.nonces])
    began = record.lines or footer.reason != "void"
    deal = course.begin() if began else None
    yield None, course
    for line in redo(course, deal, record.lines, header.match):
        yield line, course


def redo(course: Course, deal: Event | None, lines: Iterable[Ply | Strike], match: str) -> Iterator[Ply | Strike]:
    """Referee again, on a course that has just begun, what the lines say; each comes out when it is done.

    Raises `BadRecord`, naming the ply, where a line is not what the rules and the dice give.
    """
    strikes = [0] * course.game.seats
    followed = False
    for line in lines:
        if isinstance(line, Strike):
            where = f"{match}: ply {line.ply}"
            if course.over or (line.ply, line.seat) != (course.ply, course.to_move):
                raise BadRecord(f"{where}: a strike of seat {line.seat}, which was not to move")
            strikes[line.seat] += 1
        else:
            where = f"{match}: ply {line.event.ply}"
            event, deal = deal or _again(course, line.event, strikes, where), None
            if event != line.event:
                raise BadRecord(f"{where}: {_difference(line.event, event)}")
            if course.digest.hex() != line.digest:
                changed = "this move" if followed else "this move, a bot, the config or a nonce"
                raise BadRecord(f"{where}: the digest does not follow: {changed} was changed")
            followed = True
        yield line


def _again(course: Course, event: Event, strikes: Sequence[int], where: str) -> Event:
    seat = event.seat
    if course.over:
        raise BadRecord(f"{where}: the match was over before this event")
    if event.out is None:
        if seat != course.to_move:
            raise BadRecord(f"{where}: seat {seat} moves, but seat {course.to_move} is to move")
        if strikes[seat] >= MAX_STRIKES:
            raise BadRecord(f"{where}: seat {seat} moves after its strike number {MAX_STRIKES}")
        try:
            return course.play(course.game.decode_move(event.move))
        except BotFault as exc:
            raise BadRecord(f"{where}: {exc}") from exc
    if seat in course.out or not 0 <= seat < course.game.seats:
        raise BadRecord(f"{where}: seat {seat} is not in the match and cannot leave it")
    if event.out not in LEAVING:
        raise BadRecord(f"{where}: seat {seat} leaves by {event.out!r}: one of {', '.join(LEAVING)}")
    if (event.out == "illegal") != (strikes[seat] >= MAX_STRIKES):
        raise BadRecord(f"{where}: seat {seat} leaves by {event.out!r} after {strikes[seat]} strikes of {MAX_STRIKES}")
    return course.leave(seat, event.out)


def _difference(said: Event, found: Event) -> str:
    field = next(field for field in Event.__struct_fields__ if getattr(said, field) != getattr(found, field))
    return f"{field} should be {getattr(found, field)}, the record says {getattr(said, field)}"
