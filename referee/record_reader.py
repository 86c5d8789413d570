"""Records and journals read back from their bytes, or refused in one line that names the file and what is wrong."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

import msgspec
from msgspec import Struct

from protocol.errors import BadRecord
from referee.record import FORMAT, MOST_BYTES, AnyLine, Footer, Header, Ply, Record, Strike

MOST_A_LINE = 256 * 1024
"""Bytes. What is in a line came in a frame, or is the dice of one."""
LINE_FEED = b"\n"

_decode = msgspec.json.Decoder(AnyLine).decode


class _Opening(Struct, frozen=True):
    """What the first line of a record of any format says."""

    type: str
    format: int
    version: str = "an unknown version"


_decode_opening = msgspec.json.Decoder(_Opening).decode


def unpack(data: bytes, name: str) -> bytes:
    """The JSON lines of a record that may be gzipped. Raises `BadRecord`."""
    if len(data) > MOST_BYTES:
        raise BadRecord(f"{name} has more than {MOST_BYTES} bytes: a match record is smaller")
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


class Lines(Collection[Ply | Strike]):
    """The lines between header and footer, decoded each time that they are looked at: only their text is kept.

    Raises `BadRecord` where one is no event.
    """

    def __init__(self, text: bytes, begin: int, end: int, name: str) -> None:
        self._text, self._begin, self._end, self._name = text, begin, end, name

    def __iter__(self) -> Iterator[Ply | Strike]:
        for number, row in enumerate(rows(self._text, self._begin, self._end), 2):
            line = _line(row, number, self._name)
            if not isinstance(line, (Ply, Strike)):
                kind = type(line).__name__.lower()
                raise BadRecord(f"{self._name}: line {number} is a {kind}, where only events may be")
            yield line

    def __len__(self) -> int:
        return self._text.count(b"\n", self._begin, self._end)

    def __contains__(self, line: object) -> bool:
        return any(line == other for other in self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lines) and self._own == other._own

    __hash__ = None  # type: ignore[assignment]

    @property
    def _own(self) -> bytes:
        return self._text[self._begin : self._end]


def read(data: bytes, name: str) -> Record:
    """A record from its bytes, gzipped or not; `name` goes into messages. Raises `BadRecord`."""
    text = unpack(data, name)
    if not text:
        raise BadRecord(f"{name} is empty: a match record begins with a header line")
    first = next(rows(text), text)
    header = _line(first, 1, name)  # alone first: it tells a newer format and a foreign file
    if not isinstance(header, Header):
        raise BadRecord(f"{name} is not a match record: line 1 is no header")
    if not text.endswith(b"\n"):
        raise BadRecord(f"{name} is cut short in line {text.count(LINE_FEED) + 1}, which has no end")
    footer_at = text.rfind(LINE_FEED, 0, -1) + 1
    lines = Lines(text, len(first) + 1, footer_at, name)
    footer = _line(text[footer_at:-1], len(lines) + 2, name)
    if not isinstance(footer, Footer):
        raise BadRecord(f"{name} is cut short {_after(chain(lines, [footer]))}: it has no footer")
    record = Record(header, lines, footer)
    _check_seats(record, name)
    return record


def _after(lines: Iterable[AnyLine]) -> str:
    """Where lines end that should go on."""
    last = None
    for line in lines:
        last = line if isinstance(line, Ply) else last
    return "after its header" if last is None else f"after ply {last.event.ply}"


def _check_seats(record: Record, name: str) -> None:
    """Refuse a record that has more or less to say than a word for each seat."""
    footer, seats = record.footer, len(record.header.seats)
    rated = seats if footer.ratings is None else len(footer.ratings.seats)
    for what, count in (("ranks", len(footer.ranks)), ("reasons", len(footer.reasons)), ("ratings", rated)):
        if count != seats:
            raise BadRecord(f"{name}: the footer has {count} {what}, the header {seats} seats")
    for ply in record.plies:
        if len(ply.clock) != seats:
            raise BadRecord(f"{name}: ply {ply.event.ply}: {len(ply.clock)} clocks, the header has {seats} seats")


def rows(text: bytes, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
    """The lines that are closed by a line feed, without it, one after the other."""
    while (feed := text.find(LINE_FEED, begin, end)) >= 0:
        yield text[begin:feed]
        begin = feed + 1


def read_lines(lines: Iterable[bytes], name: str) -> list[AnyLine]:
    """The lines of a record or journal. Raises `BadRecord` with the line's number."""
    return [_line(line, number, name) for number, line in enumerate(lines, 1)]


def _line(line: bytes, number: int, name: str) -> AnyLine:
    """One line. Raises `BadRecord` with its number."""
    if len(line) > MOST_A_LINE:
        raise BadRecord(f"{name} is not a match record: line {number} has more than {MOST_A_LINE} bytes")
    try:
        decoded: AnyLine = _decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as exc:
        _check_format(line, name)
        raise BadRecord(f"{name} is not a match record: line {number}: {exc}") from exc
    if isinstance(decoded, Header):
        _check_format(line, name)
    return decoded


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
