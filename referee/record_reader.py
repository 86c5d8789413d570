"""Reading records and journals from their bytes. An error is one line that names the file and the problem."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from itertools import islice
from operator import eq
from typing import Any

import msgspec
from msgspec import Struct

from protocol.display import short_repr
from protocol.errors import BadRecord
from protocol.names import NAME_DESCRIPTION, fold_name, is_bot_name
from referee.record import (
    FORMAT,
    MAX_RECORD_BYTES,
    AnyLine,
    EventLine,
    Footer,
    Header,
    Ply,
    Record,
    Sealed,
    Strike,
    write_line,
)

MAX_LINE_BYTES = 256 * 1024
"""Maximum bytes in a line of a record. A line contains what came in one frame, or the dice of one event."""
CHUNK_BYTES = 64 * 1024
"""Maximum bytes of a record that are unpacked at a time."""
LINES_PER_STEP = 100
"""Number of lines that `read_record_in_steps` parses in a step."""
LINE_FEED = b"\n"
"""The byte that ends each line of a record."""

_decode = msgspec.json.Decoder(AnyLine).decode


class _Opening(Struct, frozen=True):
    """The fields of a record's first line that are the same in every format."""

    type: str
    format: int
    version: str = "an unknown version"


_decode_opening = msgspec.json.Decoder(_Opening).decode


class RecordLines(Collection[EventLine]):
    """The lines between header and footer of a valid record. Each iteration unpacks and decodes the record again."""

    def __init__(self, data: bytes, count: int, name: str) -> None:
        self._data, self._count, self._name = data, count, name

    def __iter__(self) -> Iterator[EventLine]:
        for number, row in enumerate(islice(_iter_lines(self._data, self._name), 1, self._count + 1), 2):
            line = _parse_line(row, number, self._name)
            assert isinstance(line, (Ply, Sealed, Strike))
            yield line

    def __len__(self) -> int:
        return self._count

    def __contains__(self, line: object) -> bool:
        return any(line == other for other in self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecordLines) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


def unpack(data: bytes, name: str) -> bytes:
    """Return the JSON lines of a record, gzipped or not. Raise `BadRecord` if it cannot be unpacked."""
    return b"".join(iter_unpacked(data, name))


def is_packed(data: bytes) -> bool:
    """Return whether a record is gzipped."""
    return data[:2] == b"\x1f\x8b"


def iter_unpacked(data: bytes, name: str) -> Iterator[bytes]:
    """Yield the bytes of an unpacked record in chunks of at most `CHUNK_BYTES` bytes. Raise `BadRecord` if the record
    cannot be unpacked. The error may come after some chunks.
    """
    if len(data) > MAX_RECORD_BYTES:
        raise BadRecord(f"{name} has more than {MAX_RECORD_BYTES} bytes: a match record is smaller")
    packed = (data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES))
    if not is_packed(data):
        yield from packed
        return
    stream = zlib.decompressobj(wbits=31)
    size, waiting = 0, b""
    while not stream.eof:
        waiting = waiting or next(packed, b"")
        try:
            piece = stream.decompress(waiting, CHUNK_BYTES)
        except zlib.error as exc:
            raise BadRecord(f"{name} is damaged: {exc}") from exc
        if not (waiting or piece or stream.eof):
            raise BadRecord(f"{name} is cut short: its gzip stream has no end")
        waiting = stream.unconsumed_tail
        size += len(piece)
        if size > MAX_RECORD_BYTES:
            raise BadRecord(f"{name} unpacks to more than {MAX_RECORD_BYTES} bytes: a match record is smaller")
        yield piece
    if more := len(stream.unused_data) + sum(map(len, packed)):
        raise BadRecord(f"{name} has {more} bytes after the end of its gzip stream")


def _iter_lines(data: bytes, name: str) -> Iterator[bytes]:
    """Yield the lines of a record, without their line feeds. The last line may lack a line feed. A line that is too
    long is cut just above the limit.
    """
    begun = b""
    for piece in iter_unpacked(data, name):
        *ended, rest = piece.split(LINE_FEED)
        for row in ended:
            yield begun + row
            begun = b""
        begun = (begun + rest)[: MAX_LINE_BYTES + 1]
    if begun:
        yield begun


def read_record(data: bytes, name: str) -> Record:
    """Parse a record from its bytes, gzipped or not; `name` appears in messages. Raise `BadRecord` if it is invalid."""
    steps = read_record_in_steps(data, name)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            record: Record = end.value
            return record


def read_record_in_steps(data: bytes, name: str) -> Generator[None, None, Record]:
    """Parse a record as `read_record` does. Yield between steps, each of which takes bounded time and memory."""
    feeds, end = 0, b""
    for piece in iter_unpacked(data, name):  # a first pass, because a damaged file may unpack to anything
        feeds, end = feeds + piece.count(LINE_FEED), piece[-1:] or end
        yield
    header = ply = None
    last: AnyLine | None = None
    for number, row in enumerate(_iter_lines(data, name), 1):
        line = _parse_line(row, number, name)
        if header is None:
            if not isinstance(line, Header):
                raise BadRecord(f"{name} is not a match record: line 1 is not a header")
            if end != LINE_FEED:
                raise BadRecord(f"{name} is cut short in line {feeds + 1}, which has no end")
            header = line
            _check_header(header, name)
        elif last is not header:
            _check_event(last, number - 1, header, name)
        ply = line if isinstance(line, Ply) else ply
        last = line
        if number % LINES_PER_STEP == 0:
            yield
    if header is None:
        raise BadRecord(f"{name} is empty: a match record begins with a header line")
    if not isinstance(last, Footer):
        where = "its header" if ply is None else f"ply {ply.event.ply}"
        raise BadRecord(f"{name} is cut short after {where}: it has no footer")
    _check_footer(last, header, name)
    return Record(header, RecordLines(data, feeds - 2, name), last)


def check_keys(data: bytes, name: str) -> None:
    """Raise `BadRecord` if a line of a readable record has a key twice: readers differ in which value they take."""
    for number, row in enumerate(_iter_lines(data, name), 1):
        if write_line(_parse_line(row, number, name)) != row + LINE_FEED:
            try:
                json.loads(row, object_pairs_hook=_check_unique_keys)
            except ValueError as exc:
                raise BadRecord(f"{name}: line {number}: {exc}") from exc


def _check_unique_keys(pairs: list[tuple[str, Any]]) -> None:
    key, times = Counter(key for key, _ in pairs).most_common(1)[0] if pairs else ("", 0)
    if times > 1:
        raise ValueError(f"the key {short_repr(key)} appears {times} times: it may appear once")


def _check_header(header: Header, name: str) -> None:
    """Raise `BadRecord` if a bot name is invalid or repeated, or if only one of two says that the match is rated:
    `rated` or a pool.
    """
    for seat in header.seats:
        if not is_bot_name(seat.bot):
            raise BadRecord(f"{name}: the header: {short_repr(seat.bot)} is not a name: {NAME_DESCRIPTION}")
    names, times = Counter(fold_name(seat.bot) for seat in header.seats).most_common(1)[0] if header.seats else ("", 0)
    if times > 1:
        raise BadRecord(f"{name}: the header: {names} has {times} seats: a bot may have one")
    if header.pool is not None and not header.rated:
        raise BadRecord(f"{name}: the header: it has the pool {short_repr(header.pool)}, but is not rated")
    if header.pool is None and header.rated:
        raise BadRecord(f"{name}: the header: it is rated, but has no pool")


def _check_event(line: AnyLine | None, number: int, header: Header, name: str) -> None:
    """Raise `BadRecord` if a line between header and footer is no event, or has the wrong number of clocks."""
    if not isinstance(line, (Ply, Sealed, Strike)):
        kind = type(line).__name__.lower()
        raise BadRecord(f"{name}: line {number} is a {kind}: only events are allowed there")
    seats = len(header.seats)
    if not isinstance(line, Strike) and len(line.clock) != seats:
        ply = line.event.ply if isinstance(line, Ply) else line.ply
        raise BadRecord(f"{name}: ply {ply}: {len(line.clock)} clocks, but the header has {seats} seats")


def _check_footer(footer: Footer, header: Header, name: str) -> None:
    """Raise `BadRecord` if a list in a footer does not have one entry per seat."""
    seats = len(header.seats)
    said: dict[str, Sequence[Any] | None] = {
        "ranks": footer.ranks,
        "reasons": footer.reasons,
        "payoffs": footer.payoffs,
        "rounds": footer.rounds,
        "ratings": None if footer.ratings is None else footer.ratings.seats,
    }
    for what, each in said.items():
        if each is not None and len(each) != seats:
            raise BadRecord(f"{name}: the footer has {len(each)} {what}, but the header has {seats} seats")


def complete_lines(text: bytes) -> Iterator[bytes]:
    """Yield the complete lines of a text, without their line feeds."""
    begin = 0
    while (feed := text.find(LINE_FEED, begin)) >= 0:
        yield text[begin:feed]
        begin = feed + 1


def read_lines(lines: Iterable[bytes], name: str) -> list[AnyLine]:
    """Parse the lines of a record or journal. Raise `BadRecord` with the number of the first invalid line."""
    return [_parse_line(line, number, name) for number, line in enumerate(lines, 1)]


def _parse_line(line: bytes, number: int, name: str) -> AnyLine:
    if len(line) > MAX_LINE_BYTES:
        raise BadRecord(f"{name} is not a match record: line {number} has more than {MAX_LINE_BYTES} bytes")
    try:
        decoded: AnyLine = _decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as exc:
        _check_format(line, name)
        raise BadRecord(f"{name} is not a match record: line {number}: {exc}") from exc
    if isinstance(decoded, Header):
        _check_format(line, name)
    return decoded


def _check_format(line: bytes, name: str) -> None:
    """Raise `BadRecord` if this version does not read the format of a header. In another format, only the first fields
    are sure to be the same.
    """
    try:
        opening = _decode_opening(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    if opening.type == "header" and opening.format != FORMAT:
        raise BadRecord(
            f"{name} has format {opening.format}, written by {opening.version}: this version reads {FORMAT}"
        )
