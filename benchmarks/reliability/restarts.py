"""Restart a server repeatedly while bots play and visitors connect. No connection may be refused and no match lost.

The program also measures the longest handshake and how long bots are disconnected.

Usage: python benchmarks/reliability/restarts.py [--restarts 20] [--bots 8] [--visitors 4] [--every 3] [--small]
The server restarts on SIGUSR2 and keeps its process id. Exit status 1 if a connection is refused or a handshake fails,
if a bot's program ends, if a match is void or lost, or if a record or the ratings are wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import signal
import statistics
import time
from collections.abc import Mapping
from typing import Any

import uvloop
from rig import TIMEOUT_S, Server, print_broken, run_tasks
from toolkit import option, read_options
from websockets.asyncio.client import connect

from arena.store.result_queries import iter_results, record_of
from bots import Bot, Turn
from bots.client.run import Client
from bots.client.settings import Settings
from protocol.messages import Start

MOVE_DELAY_S = 0.05
"""Seconds that a bot thinks about a move. With this delay, some match is running at every restart."""
KNOCK_INTERVAL_S, VISIT_INTERVAL_S = 0.01, 0.1
"""`KNOCK_INTERVAL_S` is the pause in seconds between two bare TCP connections, `VISIT_INTERVAL_S` that between two
whole WebSocket handshakes of a visitor.
"""


class RestartPlayer(Bot):
    """A bot that plays random moves and records the matches that it began."""

    def __init__(self, name: str, started: set[str]) -> None:
        super().__init__(name)
        self._started = started

    def prepare(self, start: Start) -> None:
        self._started.add(start.match)

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        time.sleep(MOVE_DELAY_S)
        return turn.random.choice(turn.legal)


class AbsenceLog(io.StringIO):
    """A stream that bots write their output to. It computes the seconds for which each bot was disconnected."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self._left: dict[str, float] = {}

    def write(self, text: str) -> int:
        name, _, said = text.partition(": ")
        if "trying again" in said:
            self._left.setdefault(name, time.monotonic())
        elif said.startswith("connected") and name in self._left:
            self.seconds.append(time.monotonic() - self._left.pop(name))
        return len(text)


async def connect_repeatedly(port: int, done: asyncio.Event, refused: list[str]) -> int:
    """Connect and disconnect until `done` is set. Return the number of attempts."""
    count = 0
    while not done.is_set():
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.9.0.1", 0))
            writer.transport.abort()
        except OSError as exc:
            refused.append(f"a connection: {exc}")
        count += 1
        await asyncio.sleep(KNOCK_INTERVAL_S)
    return count


async def shake_hands_repeatedly(url: str, address: str, done: asyncio.Event, refused: list[str]) -> list[float]:
    """Complete handshakes with the arena until `done` is set. Return the duration of each in seconds."""
    took = []
    while not done.is_set():
        began = time.monotonic()
        try:
            async with connect(url, compression=None, open_timeout=TIMEOUT_S, local_addr=(address, 0)):
                took.append(time.monotonic() - began)
        except Exception as exc:
            refused.append(f"a handshake: {exc!r}")
        await asyncio.sleep(VISIT_INTERVAL_S)
    return took


def restart(server: Server) -> None:
    begun = sum("listening on" in line for line in server.log)
    server.process.send_signal(signal.SIGUSR2)
    server.wait_for_line("listening on", TIMEOUT_S, begun + 1)


async def run(server: Server, options: argparse.Namespace) -> tuple[list[str], set[str], str]:
    """Restart the server repeatedly. Return the failed checks, the matches begun, and a text with the measurements."""
    url, absences, done = f"ws://127.0.0.1:{server.port}", AbsenceLog(), asyncio.Event()
    started, refused = set[str](), list[str]()
    bots = [RestartPlayer(f"player-{number}", started) for number in range(options.bots)]
    clients = [Client(bot, Settings(url=url, game="nim"), f"the token of {bot.name}") for bot in bots]
    visits = [shake_hands_repeatedly(url, f"127.9.1.{number + 1}", done, refused) for number in range(options.visitors)]
    with contextlib.redirect_stdout(absences), contextlib.redirect_stderr(absences):
        async with run_tasks(*(client.play() for client in clients)) as playing:
            async with asyncio.TaskGroup() as group:
                knocking = group.create_task(connect_repeatedly(server.port, done, refused))
                visiting = [group.create_task(visit) for visit in visits]
                for _ in range(options.restarts):
                    await asyncio.sleep(options.every)
                    await asyncio.to_thread(restart, server)
                await asyncio.sleep(options.every)
                done.set()
            ended = [f"a bot's program ended: {task.exception()!r}" for task in playing if task.done()]
    knocks, took = knocking.result(), [one for task in visiting for one in task.result()]
    away = absences.seconds
    told = (
        f"{options.restarts} restarts: {knocks} connections, {len(took)} handshakes, {len(refused)} refused; "
        f"a handshake took {max(took):.2f} s at most; bots were away {len(away)} times, "
        f"for {statistics.median(away):.2f} s (median) and {max(away):.2f} s at most"
    )
    return [*refused, *ended], started, told


def main() -> None:
    options = read_options(
        __doc__,
        {"restarts": 3, "bots": 4, "visitors": 2, "every": 1.5},
        restarts=20,
        bots=8,
        visitors=4,
        every=option(3.0, "seconds between two"),
    )
    with Server() as server:
        broken, started, told = uvloop.run(run(server, options))
        server.stop()
        print(told)
        with server.open_store() as store:
            void = [one.match for one in store.iterate(iter_results) if one.reason == "void"]
            lost = [match for match in started - server.running_matches() if store.read(record_of, match) is None]
        broken += [f"match {match} is void" for match in void] + [f"match {match} is lost" for match in lost]
        broken += [line for line in server.log if "goes on as it is" in line] + server.check_data()
    raise SystemExit(print_broken(broken, f"{len(started)} matches: none void, none lost; nobody was refused"))


if __name__ == "__main__":
    main()
