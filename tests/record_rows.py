"""Records as rows, the JSON of their lines, which tests change; and how a changed record is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arena.replay.verify import verify_record
from protocol.errors import BadRecord
from referee import record_reader

Row = dict[str, Any]
Rows = list[Row]


def rows_of(packed: bytes) -> Rows:
    return [json.loads(line) for line in record_reader.unpack(packed, "m-1").splitlines()]


def bytes_of(rows: Rows) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def plies_of(rows: Rows) -> Rows:
    return [row for row in rows if row["type"] == "ply"]


def refusal(record: bytes | Rows) -> str:
    """The one line with which a record is refused."""
    data = record if isinstance(record, bytes) else bytes_of(record)
    with pytest.raises(BadRecord) as caught:
        verify_record(record_reader.read_record(data, "m-1.jsonl.gz"))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("m-1")
    return message
