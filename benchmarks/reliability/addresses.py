"""Check that one address can't harm others: by silent, many or short connections, new names, tokens or open files.

An honest pair plays from its own address, beside `--attackers` processes of each kind with addresses of their own,
while a newcomer connects from another. Then the server is limited to `--files` open files, and strangers take all they
can get.
Usage: python benchmarks/reliability/addresses.py [--attackers 2] [--seconds 10] [--files 256] [--small]
Exit status 1 if the pair lost its connection, the newcomer did not come in, an address got more than its share, or the
server ran out of files.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sqlite3
import sys
import time
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

import uvloop
from rig import Closed, HonestPair, Raw, Server, attackers, small_or_asked

PER_ADDRESS, NAMES = 100, 100
"""The limits of an address: connections, and new names per hour."""
HONEST, NEWCOMER = "127.0.0.2", "127.0.0.3"
REFUSED = (OSError, Closed, asyncio.IncompleteReadError, TimeoutError)


async def silent(port: int, source: str) -> None:
    """Open connections and send nothing."""
    held = []
    while True:
        with contextlib.suppress(*REFUSED):
            held.append(await Raw.connect(port, source=source))
        await asyncio.sleep(0.002)


async def halfway(port: int, source: str) -> None:
    """Complete WebSocket handshakes, but never say hello."""
    held = []
    while True:
        with contextlib.suppress(*REFUSED):
            raw = await Raw.connect(port, source=source)
            await raw.upgrade()
            held.append(raw)


async def watching(port: int, source: str) -> None:
    """Take as many connections as possible."""
    held = []
    while True:
        with contextlib.suppress(*REFUSED):
            held.append(await Raw.enter(port, source=source))


async def coming_and_going(port: int, source: str) -> None:
    """Connect and disconnect as fast as possible."""
    while True:
        with contextlib.suppress(*REFUSED):
            (await Raw.connect(port, source=source)).close()


async def registering(port: int, source: str) -> None:
    """Register new names without end."""
    for number in count():
        with contextlib.suppress(*REFUSED):
            (await Raw.enter(port, f"new-{source}-{number}", source=source)).close()


async def guessing(port: int, source: str) -> None:
    """Try wrong tokens for the honest bot's name without end."""
    for number in count():
        with contextlib.suppress(*REFUSED):
            (await Raw.enter(port, "honest-a", source=source, token=f"a guess, number {number}")).close()


KINDS: dict[str, Callable[[int, str], Coroutine[Any, Any, None]]] = {
    function.__name__: function for function in (silent, halfway, watching, coming_and_going, registering, guessing)
}


def attack(number: int, port: int, kind: str) -> None:
    uvloop.run(KINDS[kind](port, f"127.0.1.{1 + number}"))


async def newcomer(port: int) -> float:
    """Return the seconds until a client from another address is welcomed; infinite if that takes over ten."""
    began = time.perf_counter()
    while time.perf_counter() - began < 10:
        with contextlib.suppress(*REFUSED):
            async with asyncio.timeout(5):
                raw = await Raw.enter(port, "newcomer", source=NEWCOMER)
            raw.close()
            if raw.welcome["type"] == "welcome":
                return time.perf_counter() - began
        await asyncio.sleep(0.1)
    return float("inf")


def names(server: Server, count: int) -> bool:
    """Return whether no address registered more than `count` names."""
    with contextlib.closing(sqlite3.connect(server.data / "arena.db")) as connection:
        found = connection.execute("SELECT name FROM bots WHERE name LIKE 'new-%'").fetchall()
    sources = [name.split("-")[1] for (name,) in found]
    return max(map(sources.count, sources), default=0) <= count


async def beside(options: argparse.Namespace, kind: str) -> bool:
    """Play beside attackers of one kind. Return whether everything was as it should be."""
    with Server() as server:
        async with HonestPair(server.port, source=HONEST) as pair:
            await pair.feel(1)
            idle = server.descriptors()
            with attackers(options.attackers, attack, server.port, kind):
                await asyncio.sleep(2)
                used = server.processor_time()
                felt = await pair.feel(options.seconds)
                used = (server.processor_time() - used) / options.seconds
                waited = await newcomer(server.port)
                more = server.descriptors() - idle
        fair = more <= options.attackers * 2 * PER_ADDRESS + 8 and names(server, NAMES + 2)
    print(f"{kind:17} {felt}, newcomer {waited:5.2f} s, {more:4} files, processor {used:4.0%}")
    return fair and not felt.drops and waited < 10


async def exhausted(options: argparse.Namespace) -> bool:
    """Play while strangers take all of the few open files. Return whether everything was as it should be."""
    with Server("--max-per-address", "1000", files=options.files) as server:
        async with HonestPair(server.port, source=HONEST) as pair:
            with (
                attackers(options.attackers, attack, server.port, "watching"),
                attackers(options.attackers, attack, server.port, "silent"),
            ):
                await asyncio.sleep(2)
                felt = await pair.feel(options.seconds)
                used = server.descriptors()
    failed = [line for line in server.log if "no connection can be accepted" in line or "can't" in line]
    print(f"{options.files:4} files, all wanted {felt}, {len(felt.starts)} matches begun, {used} files open")
    return not felt.drops and bool(felt.starts) and not failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attackers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--files", type=int, default=256)
    options = small_or_asked(parser, attackers=1, seconds=1)
    kinds = ["silent"] if options.small else list(KINDS)

    async def run() -> bool:
        return all([await beside(options, kind) for kind in kinds] + [await exhausted(options)])

    return 0 if uvloop.run(run()) else 1


if __name__ == "__main__":
    sys.exit(main())
