"""Measure how much spectators slow down the players: a large audience of one match, or clients that do not read.

First a pair of bots plays, without and with an audience of every match. Then `--bots` bots play, without and with
`--stalled` spectators, from twenty addresses, that ask for every match and read nothing.
Usage: python benchmarks/reliability/watchers.py [--audience 300] [--bots 100] [--stalled 200] [--seconds 10] [--small]
Exit status 1 if a bot lost its connection, or the server's memory grew by more than the limit for unread data.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from contextlib import AsyncExitStack

import uvloop
from rig import JSON, MSGPACK, HonestPair, PlayTimes, RawConnection, Server, run_attackers
from toolkit import read_options

MAX_UNREAD_MIB = 4.0
"""Maximum MiB of unread data that the server keeps for one connection."""
MAX_TOTAL_UNREAD_MIB = 256.0
"""Maximum MiB of unread data that the server keeps for all connections together."""
ADDRESS_COUNT = 20
"""The number of addresses that the spectators share."""


def watch(number: int, port: int, count: int, reads: bool) -> None:
    """Run a process of spectators, which watch each new match. With `reads`, they read what they receive."""
    uvloop.run(watch_all(port, count, reads))


async def watch_all(port: int, count: int, reads: bool) -> None:
    buffer = 0 if reads else 4096
    first = await RawConnection.enter(port, source="127.0.1.1")
    first.send(type="watch", match="*")
    watchers: list[RawConnection] = []
    for number in range(count):
        encoding = JSON if number % 2 else MSGPACK
        source = f"127.0.1.{1 + number % ADDRESS_COUNT}"
        watchers.append(await RawConnection.enter(port, encoding=encoding, source=source, receive_buffer=buffer))
    reading = [asyncio.create_task(watcher.discard()) for watcher in watchers if reads]
    while True:
        match = (await first.receive("start"))["match"]
        for watcher in watchers:
            with contextlib.suppress(ConnectionError):
                watcher.send(type="watch", match=match)
        assert not any(task.done() for task in reading)


async def measure_audience(options: argparse.Namespace) -> bool:
    """Measure a pair of bots without and with many spectators. Return whether the pair had no failure."""
    with Server() as server:
        async with HonestPair(server.port) as pair:
            await pair.measure(1)
            without, used = await pair.measure_with(server, options.seconds)
            with run_attackers(1, watch, server.port, options.audience, True):
                await asyncio.sleep(2 + options.audience / 50)
                beside, more = await pair.measure_with(server, options.seconds)
    each = options.seconds * (more / len(beside.plies) - used / len(without.plies)) / options.audience * 1e6
    print(f"one match, no watchers   {without}")
    print(f"{options.audience:4} watchers            {beside}, {each:.1f} µs of each ply a watcher")
    return not beside.drops


async def measure_stalled(options: argparse.Namespace) -> bool:
    """Measure how fast bots play many matches beside spectators that do not read. Return true if no bot lost a
    connection or got an error, and the server's memory stayed within the limit.
    """
    with Server() as server:
        async with AsyncExitStack() as stack:
            pairs = [
                HonestPair(
                    server.port, (f"bot-a-{number}", f"bot-b-{number}"), pace=0.05, source=f"127.0.0.{1 + number // 10}"
                )
                for number in range(options.bots // 2)
            ]
            await asyncio.gather(*(stack.enter_async_context(pair) for pair in pairs))
            await measure_pairs(pairs, 1)
            without = await measure_pairs(pairs, options.seconds)
            before = peak = server.memory_mib()
            beside = PlayTimes()
            with run_attackers(1, watch, server.port, options.stalled, False):
                await asyncio.sleep(1)
                for _ in range(int(2 * options.seconds)):
                    now = await measure_pairs(pairs, 1)
                    beside.plies += now.plies
                    beside.drops += now.drops
                    peak = max(peak, server.memory_mib())
    grown = peak - before
    times = beside.quantile(0.99) / without.quantile(0.99)
    print(f"{options.bots:4} bots, no watchers    {without}")
    print(f"{options.stalled:4} that do not read    {beside}, {times:.1f} times p99")
    print(f"memory {before:.0f} MiB, {grown:+.0f} at most with them: {grown / options.stalled * 1024:.0f} KiB each")
    return not beside.drops and grown < min(MAX_TOTAL_UNREAD_MIB, MAX_UNREAD_MIB * options.stalled)


async def measure_pairs(pairs: list[HonestPair], seconds: float) -> PlayTimes:
    """Let all pairs play for `seconds` seconds more. Return the waiting times and failures of all pairs together."""
    every = await asyncio.gather(*(pair.measure(seconds) for pair in pairs))
    return PlayTimes([ply for felt in every for ply in felt.plies], [], [drop for felt in every for drop in felt.drops])


async def main(options: argparse.Namespace) -> int:
    unharmed = [await measure_audience(options), await measure_stalled(options)]
    return 0 if all(unharmed) else 1


if __name__ == "__main__":
    small = {"audience": 40, "bots": 10, "stalled": 20, "seconds": 1}
    sys.exit(asyncio.run(main(read_options(__doc__, small, audience=300, bots=100, stalled=200, seconds=10.0))))
