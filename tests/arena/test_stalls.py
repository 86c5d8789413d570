"""Whose time it is when the arena's loop is held up: matches on a real server that is blocked on purpose."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any

import msgpack
import pytest
from websockets.frames import Frame, Opcode

from arena.host.broadcast import EncodedMessages
from arena.host.runner import MatchRunner
from protocol.messages import Clock, FromServer, Turn
from referee.record import Ply

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="other kernels don't say when a move arrived"),
    pytest.mark.uvloop_too,  # the one loop looks at sockets before it looks at timers, the other after
]
STALL = 0.3
MOVE = {"heap": 0, "take": 1}


class Table:
    """A match under way, in which seat 0 has been told its turn."""

    def __init__(self, served: Any, clients: tuple[Any, Any], match: str, begins_after: float) -> None:
        self.arena = served.arena
        self.clients = clients
        self.match = match
        self.begins_after = begins_after
        """A time of `time.monotonic` before the clock of seat 0 began to run."""

    @classmethod
    async def begun(cls, serve: Any, bank_ms: int = 60_000) -> Table:
        served = await serve(clock=Clock(bank_ms=bank_ms, increment_ms=0))
        before = time.monotonic()
        first, second, start = await served.begun()
        await first.expect("turn")
        return cls(served, (first, second), start["match"], before)

    @property
    def runner(self) -> MatchRunner:
        return self.arena.host.clients.runners[self.match]

    def send(self, seat: int, ply: int) -> None:
        """Have a seat's move in the server's socket at once, while the loop does nothing else."""
        move = msgpack.packb({"type": "move", "match": self.match, "ply": ply, "move": MOVE})
        socket = self.clients[seat].wire.transport.get_extra_info("socket")
        os.write(socket.fileno(), Frame(Opcode.BINARY, move).serialize(mask=True))

    async def expect(self, seat: int, kind: str) -> dict[str, Any]:
        message: dict[str, Any] = await self.clients[seat].expect(kind)
        return message

    def given(self) -> list[int]:
        """What the lines so far say was given back."""
        lines = self.arena._journal.read(self.match)
        return [line.given for line in lines if isinstance(line, Ply)]


def stall(seconds: float = STALL) -> None:
    time.sleep(seconds)


TICK = 0.001
"""What uvloop's clock counts. A turn that begins in the tick in which its seat was written to before may have been
written with that, so no time is given back for it."""
ROUNDING_MS = 2
"""uvloop's clock counts whole milliseconds, and so does what a seat is told of its bank."""


async def test_a_move_that_waited_while_the_loop_was_held_up_has_the_time_back(serve: Any) -> None:
    table = await Table.begun(serve)
    table.send(0, 0)
    stall()
    turn = await table.expect(1, "turn")
    (given,) = table.given()
    assert given > 1000 * STALL / 2
    assert 60_000 - turn["clock"][0] <= 1000 * (time.monotonic() - table.begins_after) + ROUNDING_MS - given


async def test_a_seat_that_thinks_while_the_loop_is_held_up_gains_nothing(serve: Any) -> None:
    table = await Table.begun(serve)
    began = time.monotonic()
    stall()
    table.send(0, 0)
    thought = time.monotonic() - began
    turn = await table.expect(1, "turn")
    (given,) = table.given()
    assert 1000 * thought - (60_000 - turn["clock"][0]) <= given + ROUNDING_MS
    assert turn["clock"][0] < 60_000 - 1000 * STALL / 2


async def test_no_more_is_given_back_than_one_percent_of_the_bank(serve: Any) -> None:
    table = await Table.begun(serve, bank_ms=10_000)
    table.send(0, 0)
    stall()
    turn = await table.expect(1, "turn")
    assert table.given() == [100]
    assert turn["clock"][0] <= 10_100 - 1000 * STALL


class Stalling:
    """A watcher whose turns hold the loop up: those of the seats are made, and not yet written."""

    def send(self, message: FromServer) -> None:
        """It has no seat."""

    def send_shared(self, shown: EncodedMessages) -> None:
        if isinstance(shown.messages[0], Turn):
            stall()


async def test_a_seat_whose_turn_could_not_be_written_has_the_time_back(serve: Any) -> None:
    table = await Table.begun(serve)
    await asyncio.sleep(TICK)
    staller = Stalling()
    table.runner.watch(staller)
    began = time.monotonic()
    table.send(0, 0)
    turn = await table.expect(1, "turn")
    table.runner.unwatch(staller)
    assert turn["clock"][1] == 60_000
    table.send(1, 1)
    turn = await table.expect(0, "turn")
    given = table.given()[1]
    assert given > 1000 * STALL / 2
    assert 60_000 - turn["clock"][1] <= 1000 * (time.monotonic() - began) + ROUNDING_MS - given


async def test_a_move_that_arrived_before_its_bank_ended_counts_though_it_was_read_after(serve: Any) -> None:
    for bank_ms in (1000, 1000, 1000, 1000, 4000, 16000):
        table = await Table.begun(serve, bank_ms)
        table.send(0, 0)
        if 1000 * (time.monotonic() - table.begins_after) < bank_ms:
            break  # else the machine was too busy for such a bank
    stall(bank_ms / 1000 + 0.1)
    turn = await table.expect(1, "turn")
    assert turn["clock"][0] == 0


async def test_a_move_that_arrived_too_late_does_not_count_though_the_loop_was_held_up(serve: Any) -> None:
    table = await Table.begun(serve, bank_ms=200)
    stall()
    table.send(0, 0)
    end = await table.expect(1, "end")
    assert end["reason"] == "timeout"
    assert end["ranks"] == [2, 1]
