"""A match record: header, a line for every event, footer. Written as JSON lines, read back, verified from itself alone.

The format is described in docs/records.md. A journal (arena/journal.py) is the same lines while the match is on.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from arena.course import Course
from arena.result import Ratings, SeatResult
from protocol import VERSION
from protocol.dice import commitment
from protocol.errors import BadRecord, BotFault
from protocol.games import load
from protocol.messages import Clock, Event, Info

FORMAT = 1
MOST_BYTES = 256 * 1024 * 1024
"""What a record may unpack to."""


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
    match: str
    game: str
    config: dict[str, Any]
    seats: list[RecordedSeat]
    commitment: str
    rated: bool
    clock: Clock
    started: str
    tournament: str | None = None
    place: int | None = None


class Ply(Line, frozen=True, kw_only=True):
    """An event, what each seat's clock showed after it (ms), and the digest after it."""

    event: Event
    clock: list[int]
    digest: str
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
    digest: str
    seed: str
    nonces: list[str]
    finished: str
    ratings: Ratings | None = None


class Secret(Line, frozen=True, kw_only=True):
    """Only in a journal: the seed, before it may be told."""

    seed: str


class Begun(Line, frozen=True, kw_only=True):
    """Only in a journal: every seat is ready and these nonces are mixed in."""

    nonces: list[str]


AnyLine = Header | Ply | Strike | Footer | Secret | Begun
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(AnyLine).decode


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


def read_lines(lines: Iterable[bytes], name: str) -> list[AnyLine]:
    """The lines of a record or journal. Raises `BadRecord` with the line's number."""
    read: list[AnyLine] = []
    for number, line in enumerate(lines, 1):
        try:
            read.append(_decode(line))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as exc:
            raise BadRecord(f"{name} is not a match record: line {number}: {exc}") from exc
    return read


def pack(lines: Iterable[bytes], footer: Footer) -> bytes:
    """A closed record: the lines from the header on, the footer, gzip. The same record gives the same bytes."""
    return gzip.compress(b"".join(lines) + write_line(footer), compresslevel=6, mtime=0)


def unpack(data: bytes, name: str) -> bytes:
    """The JSON lines of a record that may be gzipped. Raises `BadRecord`."""
    if data[:2] != b"\x1f\x8b":
        return data
    stream = zlib.decompressobj(wbits=31)
    try:
        text = stream.decompress(data, MOST_BYTES)
    except zlib.error as exc:
        raise BadRecord(f"{name} is not a match record: {exc}") from exc
    if not stream.eof:
        raise BadRecord(f"{name} is cut short: its gzip stream has no end")
    return text


def read(data: bytes, name: str) -> Record:
    """A record from its bytes, gzipped or not; `name` goes into messages. Raises `BadRecord`."""
    rows = unpack(data, name).split(b"\n")
    if rows[-1] == b"":
        rows.pop()
    if not rows:
        raise BadRecord(f"{name} is empty: a match record begins with a header line")
    header, *_ = read_lines(rows[:1], name)
    if not isinstance(header, Header):
        raise BadRecord(f"{name} is not a match record: line 1 is no header")
    if header.format != FORMAT:
        raise BadRecord(f"{name} has format {header.format}, written by {header.version}: this version reads {FORMAT}")
    *middle, last = read_lines(rows, name)[1:] or [header]
    for number, line in enumerate(middle, 2):
        if not isinstance(line, (Ply, Strike)):
            raise BadRecord(f"{name}: line {number} is a second {type(line).__name__.lower()}")
    if not isinstance(last, Footer):
        plies = [line for line in (*middle, last) if isinstance(line, Ply)]
        after = f"after ply {plies[-1].event.ply}" if plies else "after its header"
        raise BadRecord(f"{name} is cut short {after}: it has no footer")
    return Record(header, [line for line in middle if isinstance(line, (Ply, Strike))], last)


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


def course_of(header: Header, seed: bytes, nonces: Sequence[bytes]) -> Course:
    """The match of a header, at its beginning. Raises `BotFault` for a game or config that this version can't play."""
    return Course(
        header.match,
        load(header.game, header.config),
        [seat.bot for seat in header.seats],
        bytes.fromhex(header.commitment),
        seed,
        nonces,
    )


def step(course: Course, event: Event) -> Event:
    """Do again what a recorded event says was done. Raises `BotFault` for a move that the rules refuse."""
    if event.out is not None:
        return course.leave(event.seat, event.out)
    return course.play(course.game.decode_move(event.move))


def result_of(record: Record) -> tuple[SeatResult, ...]:
    """How each seat fared."""
    return tuple(
        SeatResult(bot=seat.bot, version=seat.version, rank=rank, reason=reason)
        for seat, rank, reason in zip(record.header.seats, record.footer.ranks, record.footer.reasons, strict=True)
    )


def replay(record: Record) -> Iterable[tuple[Ply | None, Course]]:
    """The course before the first event (with None) and after every event. It is one course that goes on.

    Raises `BadRecord`, naming the ply, where a recorded event or digest is not what the rules and the dice give.
    """
    header, footer = record.header, record.footer
    seed = _hex(footer.seed, "the footer's seed")
    if commitment(header.match, seed).hex() != header.commitment:
        raise BadRecord(f"{header.match}: the seed is not the one that the header's commitment promised before ply 0")
    try:
        course = course_of(header, seed, [_hex(nonce, "a nonce") for nonce in footer.nonces])
    except BotFault as exc:
        raise BadRecord(f"{header.match}: the header: {exc}") from exc
    yield None, course
    deal = course.begin()
    for line in record.plies:
        where = f"{header.match}: ply {line.event.ply}"
        if deal is not None:
            event, deal = deal, None
        else:
            event = _again(course, line.event, where)
        if event != line.event:
            raise BadRecord(f"{where}: {_difference(line.event, event)}")
        if course.digest.hex() != line.digest:
            raise BadRecord(f"{where}: the digest does not follow: a bot, the config or a nonce was changed")
        yield line, course


def verify(record: Record) -> None:
    """Referee the match again and compare everything. Raises `BadRecord`, naming the ply where the record is wrong."""
    header, footer = record.header, record.footer
    *_, (_, course) = replay(record)
    end = f"{header.match}: after ply {record.plies[-1].event.ply if record.plies else 0}"
    if footer.reason == "void":
        course.void()
    if not course.over:
        raise BadRecord(f"{end}: seat {course.to_move} is to move, yet the footer says {footer.reason!r}")
    reasons = [course.seat_reason(seat) for seat in range(len(header.seats))]
    for what, said, found in (
        ("ranks", footer.ranks, list(course.ranks)),
        ("reason", footer.reason, course.reason),
        ("reasons", footer.reasons, reasons),
        ("plies", footer.plies, course.ply),
        ("digest", footer.digest, course.digest.hex()),
    ):
        if said != found:
            raise BadRecord(f"{end}: {what} should be {found}, the footer says {said}")
    _verify_ratings(record, end)


def _verify_ratings(record: Record, end: str) -> None:
    from arena import ladder  # imports trueskill, which most readers of records do not need

    header, ratings = record.header, record.footer.ratings
    may_rate = header.rated and not {"void", "no_show"} & {record.footer.reason, *record.footer.reasons}
    if ratings is None:
        if may_rate:
            raise BadRecord(f"{end}: the match is rated, but the footer has no ratings")
        return
    if not may_rate:
        raise BadRecord(f"{end}: the match is not rated, but the footer has ratings")
    try:
        ladder.check(header.game, ratings, record.footer.ranks)
    except BadRecord as exc:
        raise BadRecord(f"{end}: {exc}") from exc


def _again(course: Course, event: Event, where: str) -> Event:
    try:
        if course.over:
            raise BadRecord(f"{where}: the match was over before this event")
        if event.out is None and event.seat != course.to_move:
            raise BadRecord(f"{where}: seat {event.seat} moves, but seat {course.to_move} is to move")
        if event.out is not None and (event.seat in course.out or not 0 <= event.seat < course.game.seats):
            raise BadRecord(f"{where}: seat {event.seat} is not in the match and cannot leave it")
        return step(course, event)
    except BotFault as exc:
        raise BadRecord(f"{where}: {exc}") from exc


def _difference(said: Event, found: Event) -> str:
    for field in ("ply", "seat", "move", "dice", "result", "out"):
        if getattr(said, field) != getattr(found, field):
            return f"{field} should be {getattr(found, field)}, the record says {getattr(said, field)}"
    return "the event differs"


def _hex(text: str, what: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as exc:
        raise BadRecord(f"{what} is not hex: {text[:80]!r}") from exc
