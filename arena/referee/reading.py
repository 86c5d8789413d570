"""Records and journals read back from their bytes, or refused in one line that names the file and what is wrong."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from arena.referee.record import FORMAT, MOST_BYTES, AnyLine, Footer, Header, Ply, Record, Strike
from protocol.errors import BadRecord

_decode = msgspec.json.Decoder(AnyLine).decode


class _Opening(Struct, frozen=True):
    """What the first line of a record of any format says."""

    type: str
    format: int
    version: str = "an unknown version"


_decode_opening = msgspec.json.Decoder(_Opening).decode


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
        raise BadRecord(f"{name} is cut short {_after([*between, last])}: it has no footer")
    record = Record(header, between, last)
    _check_seats(record, name)
    return record


def _between(lines: Iterable[AnyLine], name: str) -> list[Ply | Strike]:
    between = []
    for number, line in enumerate(lines, 2):
        if not isinstance(line, (Ply, Strike)):
            raise BadRecord(f"{name}: line {number} is a {type(line).__name__.lower()}, where only events may be")
        between.append(line)
    return between


def _after(lines: Iterable[AnyLine]) -> str:
    """Where lines end that should go on."""
    plies = [line.event.ply for line in lines if isinstance(line, Ply)]
    return f"after ply {plies[-1]}" if plies else "after its header"


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
