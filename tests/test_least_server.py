"""The server that does the least for a ply: what it records and sends, beside the referee."""

from __future__ import annotations

import asyncio
import runpy
from pathlib import Path
from types import SimpleNamespace

from protocol.codec import MSGPACK
from protocol.messages import Move, Turn
from referee.record import Ply
from referee.record_reader import read_lines

PROGRAM = Path(__file__).parents[1] / "benchmarks" / "least_server.py"
HEADER_BYTES = 4
"""The bytes before the message in a frame with a turn."""


def test_the_least_server_records_a_ply_and_sends_its_opponent_a_turn_with_the_same_digest(tmp_path: Path) -> None:
    sent: list[bytes] = []
    first, second = (SimpleNamespace(transport=SimpleNamespace(write=sent.append)) for _ in range(2))

    async def play() -> None:
        match = runpy.run_path(str(PROGRAM))["LeastMatch"](tmp_path, 0)
        match.join(first)
        match.join(second)
        match.play(first, Move(match="m-0", ply=0, move={"heap": 1, "take": 3}))

    asyncio.run(play())
    asked, answered = (MSGPACK.decode_server(frame[HEADER_BYTES:]) for frame in sent)
    assert isinstance(asked, Turn)
    assert isinstance(answered, Turn)
    assert (asked.ply, asked.to_move, answered.ply, answered.to_move) == (0, 0, 1, 1)
    assert answered.state["heaps"] == [500, 497]
    (line,) = read_lines((tmp_path / "m-0.jsonl").read_bytes().splitlines(keepends=True), "the journal")
    assert isinstance(line, Ply)
    assert (line.event, line.digest, line.clock) == (answered.events[-1], answered.digest, answered.clock)
