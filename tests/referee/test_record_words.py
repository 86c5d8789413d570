"""In which words a record that lies is refused: what may have been changed, what the rules say of a move."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.errors import BadRecord
from referee.effects import Resignation
from referee.record import is_public, write_line
from referee.record_reader import read_record
from referee.replay import replay
from referee_table import Table


def rows_of_a_match() -> list[dict[str, Any]]:
    table = Table("nim", {"heaps": [3, 5, 7]}).begin()
    for heap in (0, 1, 2):
        table.play({"heap": heap, "take": 1})
    table.send(Resignation(1))
    footer = table.match.footer(table.match.result("2026-01-01T00:01:00.000Z"), None)
    lines = [*(line for line in map(write_line, table.lines) if is_public(line)), write_line(footer)]
    return [json.loads(line) for line in lines]


def refusal(rows: list[dict[str, Any]]) -> str:
    record = read_record(b"".join(json.dumps(row).encode() + b"\n" for row in rows), "m-1.jsonl")
    with pytest.raises(BadRecord) as refused:
        list(replay(record))
    return str(refused.value)


def test_a_first_digest_that_does_not_follow_may_be_the_fault_of_what_it_binds() -> None:
    rows = rows_of_a_match()
    rows[0]["seats"][0]["bot"] = "eve"
    what = "this move, a bot, the config or a nonce"
    assert refusal(rows) == f"m-1: ply 0: the digest does not follow: {what} was changed"


@pytest.mark.parametrize("ply", [1, 2])
def test_a_later_digest_that_does_not_follow_is_the_fault_of_its_move(ply: int) -> None:
    rows = rows_of_a_match()
    rows[1 + ply]["event"]["move"]["take"] = 2
    assert refusal(rows) == f"m-1: ply {ply}: the digest does not follow: this move was changed"


def test_a_move_that_the_rules_refuse_is_refused_in_their_words() -> None:
    rows = rows_of_a_match()
    rows[2]["event"]["move"]["take"] = 6
    said = "heap 1 holds 5: 6 cannot be taken; the heaps are [2, 5, 7]"
    assert refusal(rows) == f"m-1: ply 1: {said}"


@pytest.mark.parametrize("seat", [-1, 2])
def test_a_seat_that_there_is_not_cannot_leave(seat: int) -> None:
    rows = rows_of_a_match()
    rows[4]["event"]["seat"] = seat
    assert refusal(rows) == f"m-1: ply 3: seat {seat} is not in the match and cannot leave it"
