"""Records as rows, the JSON of their lines, which tests change; and how a changed record is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from arena.replay.verify import verify_record
from protocol.errors import BadRecord
from referee import record_reader

Row = dict[str, Any]
Rows = list[Row]
Change = Callable[[Rows], None]


def rows_of(packed: bytes) -> Rows:
    return [json.loads(line) for line in record_reader.unpack(packed, "m-1").splitlines()]


def bytes_of(rows: Rows) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def plies_of(rows: Rows) -> Rows:
    return [row for row in rows if row["type"] == "ply"]


def put(where: str, value: Any) -> Change:
    """A change of the value to which keys lead, as in "ply 3 event seat"; a function is given the old value."""

    def change(rows: Rows) -> None:
        inner: Any = {"header": rows[0], "ply": plies_of(rows), "footer": rows[-1]}
        keys: list[Any] = [int(word) if word.lstrip("-").isdigit() else word for word in where.split()]
        for key in keys[:-1]:
            inner = inner[key]
        old = inner[keys[-1]]
        inner[keys[-1]] = value(old) if callable(value) else value
        assert inner[keys[-1]] != old

    return change


def one_more(value: int) -> int:
    return value + 1


def turned(values: list[Any]) -> list[Any]:
    return values[::-1]


def refusal(record: bytes | Rows) -> str:
    """The one line with which a record is refused."""
    data = record if isinstance(record, bytes) else bytes_of(record)
    with pytest.raises(BadRecord) as caught:
        verify_record(record_reader.read_record(data, "m-1.jsonl.gz"))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("m-1")
    return message
