"""Measure how much spectators and page views slow down the players, in plies per second of a busy arena.

Pairs of bots play at full speed. Periods without load alternate with periods in which many clients watch one of the
matches, or a page is refreshed repeatedly. A ratio compares a period with load to the periods just before and after it.
Usage: python benchmarks/pages/watching.py [--watchers 500] [--refreshes 10] [--pairs 16] [--seconds 5] [--rounds 8]
    [--data DIR] [--small]
Exit status 1 if a watcher lost its connection, or a page did not load.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import multiprocessing
import statistics
import sys
import time
import urllib.request
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import NamedTuple

import uvloop

sys.path.append(str(Path(__file__).parents[1] / "reliability"))
from rig import JSON, PING, PONG, RawConnection, Server, make_frame, run_attackers, run_tasks, take_frames
from toolkit import mean_and_error, option, read_options

CONFIG = {"heaps": [500, 500], "take": [1]}
"""The config of the matches, which have 1,000 plies each."""
ADDRESS_COUNT = 20
"""The number of addresses that the watchers share."""
SETTLE_S = 1.0
"""Seconds between a change of load and the next measurement."""


class Ratio(NamedTuple):
    """The geometric mean of several ratios, with its 95 % interval from `least` to `most`."""

    mean: float
    least: float
    most: float

    @classmethod
    def of(cls, ratios: list[float]) -> Ratio:
        mean, off = mean_and_error([math.log(ratio) for ratio in ratios])
        return cls(math.exp(mean), math.exp(mean - off), math.exp(mean + off))

    def __str__(self) -> str:
        return f"ratio {self.mean:.3f} ({self.least:.3f} to {self.most:.3f})"


class Stretch(NamedTuple):
    """The speed of play in a period: plies per second, and the server's processor seconds per ply. An instance may also
    hold ratios of two speeds. Both numbers are then above 1 if the first speed is better.
    """

    rate: float
    cost: float

    def ratio_to(self, *others: Stretch) -> Stretch:
        """Divide the speed in this period by the mean speed in the periods `others`. Return the ratios."""
        rate, cost = (statistics.fmean(column) for column in zip(*others, strict=True))
        return Stretch(self.rate / rate, cost / self.cost)


class WatchedPair:
    """Two bots that play each other without a pause. `plies` counts their moves."""

    def __init__(self, number: int) -> None:
        self.names = (f"bot-{number}-a", f"bot-{number}-b")
        self.plies = 0

    async def play(self, port: int, seat: int) -> None:
        name, opponent = self.names[seat], self.names[1 - seat]
        raw = await RawConnection.enter(port, name)

        def seek() -> None:
            raw.send(type="seek", id="s", game="nim", config=CONFIG, rated=False, opponent=opponent)

        if not raw.welcome["resumed"]:  # with a kept data folder, a match of an earlier run resumes
            seek()
        while True:
            told = await raw.receive()
            match told["type"]:
                case "start":
                    raw.send(type="ready", match=told["match"])
                case "turn":
                    self.plies += 1
                    raw.send(type="move", match=told["match"], ply=told["ply"], move=told["legal"][0])
                case "end":
                    seek()
                case "error":
                    raise AssertionError(told["message"])


def watch(number: int, port: int, count: int, wanted: Event, lost: Event) -> None:
    """Run a process of `count` watchers, which watch the first pair's matches while `wanted` is set."""
    uvloop.run(watch_all(port, count, wanted, lost))


async def watch_all(port: int, count: int, wanted: Event, lost: Event) -> None:
    first = await RawConnection.enter(port, source="127.0.1.1")
    first.send(type="watch", match="*")
    watchers = [
        await RawConnection.enter(port, encoding=JSON, source=f"127.0.1.{1 + at % ADDRESS_COUNT}")
        for at in range(count)
    ]
    for watcher in watchers:
        transport = watcher.writer.transport
        transport.set_protocol(Onlooker(transport, lost))
    played = watched = ""

    async def follow() -> None:
        nonlocal played
        while True:
            start = await first.receive("start")
            if any(seat["bot"] == "bot-0-a" for seat in start["seats"]):
                played = start["match"]

    following = asyncio.create_task(follow())
    while not following.done():
        match = played if wanted.is_set() else ""
        if match != watched:
            for watcher in watchers:
                for kind, which in (("unwatch", watched), ("watch", match)):
                    if which:
                        watcher.send(type=kind, match=which)
            watched = match
        await asyncio.sleep(0.02)


class Onlooker(asyncio.Protocol):
    """The connection of a watcher, which reads everything at full speed and answers pings."""

    def __init__(self, transport: asyncio.WriteTransport, lost: Event) -> None:
        self._transport = transport
        self._lost = lost
        self._unread = b""

    def data_received(self, data: bytes) -> None:
        frames, self._unread = take_frames(self._unread + data)
        for opcode, payload in frames:
            if opcode == PING:
                self._transport.write(make_frame(payload, PONG))

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost.set()


def refresh(number: int, port: int, times: int, wanted: Event, lost: Event) -> None:
    """Run a process that requests a page `times` times per second while `wanted` is set."""
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Accept-Encoding": "gzip"})
    while wanted.wait():
        began = time.monotonic()
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                answer.read()
        except OSError:
            lost.set()
        time.sleep(max(0.0, 1 / times - (time.monotonic() - began)))


async def measure(options: argparse.Namespace) -> int:
    """Measure how watchers and page views slow down players. Return 1 if a watcher or a page failed, else 0."""
    processes = multiprocessing.get_context("spawn")
    kinds = {f"{options.watchers} watchers of one match": processes.Event()}
    kinds[f"a page refreshed {options.refreshes} times a second"] = processes.Event()
    watching, refreshing = kinds.values()
    lost = processes.Event()
    server = Server("--web-port", "0", "--clock", "600+1")
    if options.data is not None:
        server.data = options.data
    with server, contextlib.ExitStack() as stack:
        pairs = [WatchedPair(number) for number in range(options.pairs)]
        playing = [pair.play(server.port, seat) for pair in pairs for seat in (0, 1)]
        stack.enter_context(run_attackers(1, watch, server.port, options.watchers, watching, lost))
        stack.enter_context(
            run_attackers(1, refresh, await server.wait_for_page_port(), options.refreshes, refreshing, lost)
        )

        async def stretch(wanted: Event | None) -> Stretch:
            if wanted is not None:
                wanted.set()
            await asyncio.sleep(SETTLE_S)
            plies, used, began = sum(pair.plies for pair in pairs), server.processor_s(), time.perf_counter()
            await asyncio.sleep(options.seconds)
            plies = sum(pair.plies for pair in pairs) - plies
            if wanted is not None:
                wanted.clear()
            return Stretch(plies / (time.perf_counter() - began), (server.processor_s() - used) / plies)

        found: dict[str, list[Stretch]] = {kind: [] for kind in kinds}
        async with run_tasks(*playing) as tasks:
            await asyncio.sleep(3 + options.watchers / 50)
            alone = [await stretch(None)]
            for _ in range(options.rounds):
                for kind, wanted in kinds.items():
                    beside = await stretch(wanted)
                    alone.append(await stretch(None))
                    found[kind].append(beside.ratio_to(*alone[-2:]))
            for task in tasks:
                if task.done():
                    task.result()
    rate = statistics.median(one.rate for one in alone)
    print(
        f"{2 * options.pairs} bots alone: {rate:.0f} plies/s, median of {len(alone)} stretches of {options.seconds:g} s"
    )
    for kind, ratios in found.items():
        rates, costs = ([*column] for column in zip(*ratios, strict=True))
        print(f"{kind}: {Ratio.of(rates)}; plies a second of the server's processor time: {Ratio.of(costs)}")
    if lost.is_set():
        print("broken: a watcher lost its connection, or a page did not come")
    return int(lost.is_set())


if __name__ == "__main__":
    options = read_options(
        __doc__,
        {"watchers": 50, "pairs": 4, "seconds": 0.5, "rounds": 2},
        watchers=500,
        refreshes=10,
        pairs=16,
        seconds=5.0,
        rounds=8,
        data=option(None, "serve this data folder, and its page; else an empty one", type=Path),
    )
    sys.exit(asyncio.run(measure(options)))
