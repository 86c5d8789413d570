"""Check whether a sealed move of the opponent can be detected by timing a seat's own requests before and after it.

Two bots play rounds of a dilemma. In each round, a coin decides whether the opponent moves `--before` milliseconds
before the measuring seat's request, or only after it. The request is `unseek` or a reconnection to the match, and its
time is measured. The program prints the distributions of both cases, with a rank-sum test. The p of the test is the
probability that ranks would differ as much or more by chance alone.
Usage: python benchmarks/reliability/sealed_moves.py [--rounds 600] [--returns 100] [--before 0,50] [--small]

The arena throttles an address after some 250 reconnections in a row, counted over all measurements.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

import uvloop
from rig import RawConnection, Server
from toolkit import quantile, read_options

PROBER, OPPONENT = BOT_NAMES = ("prober", "opponent")
"""`PROBER` is the name of the measuring bot, `OPPONENT` that of the bot whose sealed moves it tries to detect."""


class SeatPair:
    """The two seats of a match of many rounds: the prober, which times its own requests, and its opponent."""

    def __init__(self, port: int, prober: RawConnection, opponent: RawConnection) -> None:
        self._port = port
        self._prober, self._opponent = prober, opponent
        self.match = ""

    async def begin(self, rounds: int) -> None:
        for raw, other in ((self._prober, OPPONENT), (self._opponent, PROBER)):
            raw.send(
                type="seek", id=f"s{rounds}", game="dilemma", config={"rounds": rounds}, opponent=other, rated=False
            )
        for raw in (self._prober, self._opponent):
            self.match = (await raw.receive("start"))["match"]
            raw.send(type="ready", match=self.match)

    async def wait_for_turns(self) -> int:
        """Wait until both seats have received the turn of the next round. Return the round's ply."""
        await self._opponent.receive("turn")
        return int((await self._prober.receive("turn"))["ply"])

    async def wait_for_end(self) -> None:
        for raw in (self._prober, self._opponent):
            await raw.receive("end")

    def move(self, ply: int, *, opponent: bool) -> None:
        raw = self._opponent if opponent else self._prober
        raw.send(type="move", match=self.match, ply=ply, move={"choose": random.randrange(2)})

    async def probe_unseek(self) -> None:
        """Send an `unseek`, which is always answered, and wait for the answer."""
        self._prober.send(type="unseek", id="none")
        await self._prober.receive("unseeked")

    async def probe_reconnection(self) -> None:
        """Reconnect to the match, and wait until the turn arrives again."""
        older, self._prober = self._prober, await RawConnection.enter(self._port, PROBER)
        await self._prober.receive("turn")
        older.close()


async def measure(
    pair: SeatPair, rounds: int, before: float, probe: Callable[[], Awaitable[None]]
) -> tuple[list[float], list[float]]:
    """Measure how long `probe` takes while the opponent has not moved yet, and after the opponent's move. Return both
    lists of milliseconds, one number per round.
    """
    took: tuple[list[float], list[float]] = [], []
    await pair.begin(rounds)
    for _ in range(rounds):
        ply = await pair.wait_for_turns()
        moved = random.random() < 0.5
        if moved:
            pair.move(ply, opponent=True)
        await asyncio.sleep(before)
        began = time.perf_counter()
        await probe()
        took[moved].append(1000 * (time.perf_counter() - began))
        if not moved:
            pair.move(ply, opponent=True)
        pair.move(ply, opponent=False)
    await pair.wait_for_end()
    return took


def rank_sum(one: list[float], two: list[float]) -> tuple[float, float]:
    """Return the probability that a value of `two` exceeds one of `one`, and the two-sided p of the Mann-Whitney
    test.
    """
    n, m = len(one), len(two)
    ordered = sorted([(value, 0) for value in one] + [(value, 1) for value in two])
    ranks = sum(rank for rank, (_, of) in enumerate(ordered, 1) if of)
    above = ranks - m * (m + 1) / 2
    z = (above - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
    return above / (n * m), math.erfc(abs(z) / math.sqrt(2))


def format_percentiles(values: list[float]) -> str:
    """Return a line of text with percentiles of times in milliseconds."""
    at = [quantile(values, share) for share in (0.1, 0.5, 0.9, 0.99)]
    return f"{len(values):5} times   p10 {at[0]:6.3f}   p50 {at[1]:6.3f}   p90 {at[2]:6.3f}   p99 {at[3]:6.3f} ms"


async def run(options: argparse.Namespace, port: int) -> None:
    prober, opponent = [await RawConnection.enter(port, name) for name in BOT_NAMES]
    pair = SeatPair(port, prober, opponent)
    probes: list[tuple[str, int, Any]] = [("unseek", options.rounds, pair.probe_unseek)]
    probes.append(("coming back", options.returns, pair.probe_reconnection))
    for name, rounds, probe in probes:
        for before in options.before:
            not_moved, moved = await measure(pair, rounds, before / 1000, probe)
            above, p = rank_sum(not_moved, moved)
            print(f"{name}, {before:g} ms after the opponent's move")
            print(f"  not moved  {format_percentiles(not_moved)}\n  moved      {format_percentiles(moved)}")
            print(f"  slower after a move with chance {above:.3f}, p = {p:.3g}", flush=True)


def main() -> None:
    small = {"rounds": 60, "returns": 20, "before": [50.0]}
    options = read_options(__doc__, small, rounds=600, returns=100, before=[0.0, 50.0])
    with Server() as server:
        uvloop.run(run(options, server.port))


if __name__ == "__main__":
    main()
