"""Records made to cost: what reading them takes is bounded by their size, and they are refused in one line."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.commands.replay import load
from arena.replay.verify import verify_record
from protocol.errors import BadRecord
from protocol.messages import MAX_TIME_MS
from referee import record_reader
from referee.record import MAX_RECORD_BYTES, write_line
from referee_table import A_MOVE, Table

SIZE = 3 * 1024 * 1024


def refusal(data: bytes) -> str:
    with pytest.raises(BadRecord) as refused:
        verify_record(record_reader.read_record(data, "x"))
    message = str(refused.value)
    assert "\n" not in message
    assert len(message) < 500
    return message


def peak(what: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        what()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def record() -> list[bytes]:
    """The lines of a match, each with its line feed."""
    table = Table("nim", {"heaps": [3, 3]}).begin()
    for _ in range(3):
        table.play({"heap": 0, "take": 1})
    return gzip.decompress(table.finish_at_random().packed()).splitlines(keepends=True)


def test_line_feeds_are_refused_at_the_first_and_not_counted_out() -> None:
    bomb = gzip.compress(b"\n" * SIZE)
    assert peak(lambda: refusal(bomb)) < 4 * SIZE
    assert refusal(bomb).startswith("x is not a match record: line 1: ")


def test_lines_are_decoded_one_at_a_time() -> None:
    header, first, *_, footer = record()
    ply = json.loads(first)
    ply["event"]["move"] = {"take": [[]] * 10_000}  # a list takes 19 times what it is written with
    line = json.dumps(ply, separators=(",", ":")).encode() + b"\n"
    data = b"".join([header, *[line] * (SIZE // 6 // len(line)), footer])
    assert peak(lambda: refusal(data)) < 4 * len(data)


def test_a_line_that_is_longer_than_any_is_refused_and_not_decoded() -> None:
    header, first, *rest = record()
    long = first[:-2] + b',"more":"' + b"x" * record_reader.MAX_LINE_BYTES + b'"}\n'
    said = f"x is not a match record: line 2 has more than {record_reader.MAX_LINE_BYTES} bytes"
    assert refusal(b"".join([header, long, *rest])) == said
    exact = (
        first[:-2]
        + b',"more":"'
        + b"x" * (record_reader.MAX_LINE_BYTES - len(first) - len(b',"more":""') + 1)
        + b'"}\n'
    )
    assert len(exact) == record_reader.MAX_LINE_BYTES + 1  # with its line feed
    verify_record(record_reader.read_record(b"".join([header, exact, *rest]), "x"))


def test_lines_are_what_line_feeds_close() -> None:
    assert list(record_reader.complete_lines(b"\na\n\nb")) == [b"", b"a", b""]
    assert list(record_reader.complete_lines(b"")) == []


def test_a_footer_that_is_damaged_is_refused_by_name_and_number() -> None:
    *lines, footer = record()
    said = f"x is not a match record: line {len(lines) + 1}: "
    assert refusal(b"".join([*lines, footer.replace(b'"ranks":[', b'"ranks":["')])).startswith(said)
    assert refusal(b"".join([*lines, footer, b"\n"])).startswith(f"x is not a match record: line {len(lines) + 2}: ")
    cut = f"x is cut short in line {len(lines) + 1}, which has no end"
    assert refusal(b"".join([*lines, footer[:-1]])) == cut


@pytest.mark.parametrize(
    ("number", "had", "has"),
    [
        (1, b'"bank_ms":60000', b'"bank_ms":%d'),
        (1, b'"increment_ms":500', b'"increment_ms":%d'),
        (1, b'"rated":false', b'"rated":false,"away_ms":%d'),
        (2, b'"clock":[60500,', b'"clock":[%d,'),
        (2, b'"digest":', b'"given":%d,"digest":'),
    ],
)
def test_a_time_that_is_longer_than_any_is_refused(number: int, had: bytes, has: bytes) -> None:
    def changed(milliseconds: int) -> bytes:
        lines = record()
        assert had in lines[number - 1]
        lines[number - 1] = lines[number - 1].replace(had, has % milliseconds)
        return b"".join(lines)

    record_reader.read_record(changed(MAX_TIME_MS), "x")
    for more in (MAX_TIME_MS + 1, 10**400):
        assert refusal(changed(more)).startswith(f"x is not a match record: line {number}: ")


def test_a_file_that_is_larger_than_any_record_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    path.touch()
    os.truncate(path, 100 * MAX_RECORD_BYTES)
    name, data = load(str(path), "")
    assert len(data) == MAX_RECORD_BYTES + 1
    with pytest.raises(BadRecord, match=f"has more than {MAX_RECORD_BYTES} bytes: a match record is smaller"):
        record_reader.read_record(data, name)


def test_a_record_of_the_most_bytes_is_read_unpacked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join(record())
    monkeypatch.setattr(record_reader, "MAX_RECORD_BYTES", len(data))
    verify_record(record_reader.read_record(data, "x"))


def test_a_seat_has_no_more_strikes_than_drop_it_out() -> None:
    table = Table().begin()
    for _ in range(3):
        table.play({"heap": 0, "take": 99})
    lines = gzip.decompress(table.packed()).splitlines(keepends=True)
    lines.insert(3, lines[3])
    assert refusal(b"".join(lines)) == "m-1: ply 0: a strike of seat 0 after 3 strikes"


def test_a_record_can_be_looked_at_more_than_once() -> None:
    table = Table().begin()
    table.play(A_MOVE)
    read = record_reader.read_record(table.finish_at_random().packed(), "x")
    assert list(read.lines) == list(read.lines)
    assert len(read.lines) == len(list(read.lines)) == read.footer.plies
    assert next(iter(read.plies)) in read.lines
    assert read.footer not in read.lines
    assert read.lines == record_reader.read_record(table.packed(), "y").lines
    assert read.lines != record_reader.read_record(b"".join(record()), "x").lines
    assert read.lines != list(read.lines)
    assert b"".join(map(write_line, read.lines)).count(b"\n") == len(read.lines)
