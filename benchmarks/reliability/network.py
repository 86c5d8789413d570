"""Play matches over a bad network, and check that no match hangs, is reported inconsistently or is stored differently.

Bots of the client library play rated nim through a proxy that randomly delays, slices, stalls, resets or drops data.
Usage: python benchmarks/reliability/network.py [--matches 1000] [--bots 24] [--slots 4] [--seed 1] [--clock 20+0.2]
    [--small]
Exit status 1 if a match hangs, if bots were sent different ends of it, if the stored end differs from the one sent, or
if a record or the ratings are wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import random
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import uvloop
from rig import TIMEOUT_S, Server, run_arena, run_tasks
from toolkit import read_options

from arena.doctor.tcp_proxy import ProxiedTcpConnection, TcpProxy
from arena.store.result_queries import record_of
from arena.store.store import Store
from bots import Bot, Turn
from bots.client.run import Client
from bots.client.settings import Settings
from protocol.messages import End, Start
from referee.record_reader import read_record

SETTLE_TIMEOUT_S = 120.0
"""Maximum seconds until a match ends without its bots. This is twice the time that the clocks allow."""
SILENCE_TIMEOUT_S = 60.0
"""Seconds after which client and server have certainly given up a connection that fell silent."""
FAULT_PROBABILITIES = {"delay": 0.05, "slice": 0.1, "stall": 0.004, "reset": 0.004, "silence": 0.0004}
"""The probability of each kind of fault, each time that the proxy receives data."""
HANG_UP_PROBABILITY = 0.05
"""The probability that the proxy closes a new connection immediately."""


class FaultyProxy(TcpProxy):
    """A proxy that injects faults at random, and counts them in `fault_counts`."""

    def __init__(self, port: int, chance: random.Random) -> None:
        super().__init__(port)
        self.fault_counts: Counter[str] = Counter()
        self._chance = chance

    @property
    def closes_new_connections(self) -> bool:
        """A random decision whether the proxy closes the next connection at once."""
        hangs_up = self._chance.random() < HANG_UP_PROBABILITY
        self.fault_counts["hang-up"] += hangs_up
        return hangs_up

    @closes_new_connections.setter
    def closes_new_connections(self, hangs_up: bool) -> None:
        pass

    async def forward(self, connection: ProxiedTcpConnection, data: bytes, to: asyncio.StreamWriter) -> None:
        fault = self._draw_fault()
        self.fault_counts[fault] += 1
        if fault == "reset":
            connection.cut()
            return
        if fault == "silence":
            connection.is_silent = True
            asyncio.get_running_loop().call_later(SILENCE_TIMEOUT_S, connection.cut)
            return
        if fault in ("delay", "stall"):
            await asyncio.sleep(self._chance.uniform(0, 0.1) if fault == "delay" else self._chance.uniform(1, 8))
        if fault == "slice":
            while data and to.transport is not None and not to.is_closing():
                size = self._chance.randint(1, 9)
                to.write(data[:size])
                data = data[size:]
                await asyncio.sleep(0)
            return
        await super().forward(connection, data, to)

    def _draw_fault(self) -> str:
        drawn = self._chance.random()
        for fault, share in FAULT_PROBABILITIES.items():
            drawn -= share
            if drawn < 0:
                return fault
        return "nothing"


class Witness(Bot):
    """A bot that plays random legal moves and records everything that is sent to it."""

    def __init__(self, name: str, told: dict[str, list[End]], started: set[str]) -> None:
        super().__init__(name)
        self._told, self._started = told, started

    def prepare(self, start: Start) -> None:
        self._started.add(start.match)

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        return turn.random.choice(turn.legal)

    def ended(self, end: End) -> None:
        self._told.setdefault(end.match, []).append(end)


async def play(port: int, options: argparse.Namespace) -> tuple[dict[str, list[End]], set[str], Counter[str]]:
    """Let bots play. Return three things: the `end` messages that bots received, by match; the ids of the matches that
    began; and the number of faults of each kind.
    """
    told: dict[str, list[End]] = {}
    started: set[str] = set()
    cable = FaultyProxy(port, random.Random(options.seed))
    url = f"ws://127.0.0.1:{await cable.open()}"
    clients = []
    for number in range(options.bots):
        bot = Witness(f"witness-{number}", told, started)
        settings = Settings(url=url, game="nim", slots=options.slots, seed=f"{options.seed}/{number}")
        clients.append(Client(bot, settings, f"the token of {bot.name}"))
    deadline = time.monotonic() + TIMEOUT_S + options.matches
    async with run_tasks(*(client.play() for client in clients)) as playing:
        while len(told) < options.matches and time.monotonic() < deadline:
            done, _ = await asyncio.wait(playing, timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
            for ended in done:
                raise RuntimeError(f"a bot ended, with {ended.exception() or ended.result()!r}")
    await cable.close()
    return told, started, cable.fault_counts


def find_hanging(server: Server) -> set[str]:
    """Wait until the matches end without their bots, which have stopped. Return those that do not end in time."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while (left := server.running_matches()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return left


def find_inconsistent(told: Mapping[str, list[End]], store: Store) -> set[str]:
    """Return the matches whose ends, as sent to bots, differ from each other or from the store."""
    wrong = set()
    for match, ends in told.items():
        record = store.read(record_of, match)
        if record is None:
            wrong.add(match)
            continue
        footer = read_record(record, match).footer
        stored = (footer.ranks, footer.reason, footer.plies, footer.digest, footer.seed)
        if {str((end.ranks, end.reason, end.ply, end.digest, end.seed)) for end in ends} != {str(stored)}:
            wrong.add(match)
    return wrong


def main() -> None:
    small = {"matches": 60, "bots": 8, "clock": "3+0.1"}
    options = read_options(__doc__, small, matches=1000, bots=24, slots=4, seed=1, clock="20+0.2")
    began = time.monotonic()
    with Server("--clock", options.clock) as server:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            told, started, done = uvloop.run(play(server.port, options))
        left = find_hanging(server)
        server.stop()
        with server.open_store() as store:
            wrong = find_inconsistent(told, store)
            lost = {match for match in started - left if store.read(record_of, match) is None}
        verified = run_arena("replay", "verify", "--data", str(server.data))
        complaints = [verified.stdout + verified.stderr] * (verified.returncode != 0) + server.check_data()
    reasons = Counter(ends[0].reason for ends in told.values())
    print(f"{len(told)} matches told, {len(started)} begun, in {time.monotonic() - began:.0f} s: {dict(reasons)}")
    print(f"done to their connections: {dict(done)}")
    print(f"{len(left)} hang, {len(wrong)} are told or stored in two ways, {len(lost)} are lost")
    print("\n".join(complaints) or "every record verifies, the ratings follow, the log has no traceback")
    raise SystemExit(bool(left or wrong or lost or complaints or len(told) < options.matches))


if __name__ == "__main__":
    main()
