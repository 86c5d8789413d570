"""Check that one address cannot harm others by silent, many or short connections, by new names, by wrong tokens or by
using up open files.

The kinds of attack run one after the other, each with `--attackers` processes on addresses of their own. Meanwhile an
honest pair plays from its own address, and a newcomer connects from another address. Then the server is limited to
`--files` open files, and attackers open as many connections as they can.
Usage: python benchmarks/reliability/addresses.py [--attackers 2] [--seconds 10] [--files 256] [--small]
Exit status 1 if the pair lost its connection, the newcomer was not welcomed, an address exceeded its limits, or the
server ran out of files.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import count

import uvloop
from rig import CONNECTION_ERRORS, HonestPair, RawConnection, Server, repeat, run_attackers
from toolkit import read_options

MAX_CONNECTIONS_PER_ADDRESS, MAX_NAMES_PER_HOUR = 100, 100
"""The limits of an address: it may have `MAX_CONNECTIONS_PER_ADDRESS` connections, and register `MAX_NAMES_PER_HOUR`
names per hour.
"""
HONEST_ADDRESS, NEWCOMER_ADDRESS = "127.0.0.2", "127.0.0.3"
"""`HONEST_ADDRESS` is the loopback address of the two honest bots that play during an attack. `NEWCOMER_ADDRESS` is
that of a client that first connects during the attack.
"""
Attack = Callable[[int, str, list[RawConnection], int], Awaitable[object]]


async def connect_silently(port: int, source: str, held: list[RawConnection], number: int) -> None:
    """Attack: open a connection, and send nothing."""
    held.append(await RawConnection.connect(port, source=source))


async def stop_after_handshake(port: int, source: str, held: list[RawConnection], number: int) -> None:
    """Attack: complete a WebSocket handshake, but send no `hello`."""
    held.append(await RawConnection.connect(port, source=source))
    await held[-1].upgrade()


async def spectate(port: int, source: str, held: list[RawConnection], number: int) -> None:
    """Attack: open a connection as a spectator, and keep it."""
    held.append(await RawConnection.enter(port, source=source))


async def reconnect_repeatedly(port: int, source: str, held: list[RawConnection], number: int) -> None:
    """Attack: connect and disconnect."""
    (await RawConnection.connect(port, source=source)).close()


async def register_names(port: int, source: str, held: list[RawConnection], number: int) -> None:
    """Attack: register a new name."""
    (await RawConnection.enter(port, f"new-{source}-{number}", source=source)).close()


async def guess_tokens(port: int, source: str, held: list[RawConnection], number: int) -> None:
    """Attack: try a wrong token for the name of an honest bot."""
    (await RawConnection.enter(port, "honest-a", source=source, token=f"a guess, number {number}")).close()


ATTACKS: dict[str, Attack] = {
    function.__name__: function
    for function in (
        connect_silently,
        stop_after_handshake,
        spectate,
        reconnect_repeatedly,
        register_names,
        guess_tokens,
    )
}
"""The functions that attack the server, by name. Attackers repeat them as fast as possible."""


def attack(number: int, port: int, kind: str) -> None:
    held: list[RawConnection] = []
    numbers = count()
    pause_s = 0.002 if kind == connect_silently.__name__ else 0.0

    async def attack_once() -> None:
        await ATTACKS[kind](port, f"127.0.1.{1 + number}", held, next(numbers))

    uvloop.run(repeat(attack_once, pause_s))


async def measure_newcomer(port: int) -> float:
    """Return the seconds until a client from another address is welcomed; infinity after ten seconds."""
    began = time.perf_counter()
    while time.perf_counter() - began < 10:
        with contextlib.suppress(*CONNECTION_ERRORS):
            async with asyncio.timeout(5):
                raw = await RawConnection.enter(port, "newcomer", source=NEWCOMER_ADDRESS)
            raw.close()
            if raw.welcome["type"] == "welcome":
                return time.perf_counter() - began
        await asyncio.sleep(0.1)
    return float("inf")


def are_names_within_limit(server: Server, count: int) -> bool:
    """Return whether every attacking address registered at most `count` names."""
    with contextlib.closing(sqlite3.connect(server.data / "arena.db")) as connection:
        found = connection.execute("SELECT name FROM bots WHERE name LIKE 'new-%'").fetchall()
    sources = [name.split("-")[1] for (name,) in found]
    return max(map(sources.count, sources), default=0) <= count


async def play_beside(options: argparse.Namespace, kind: str) -> bool:
    """Let the honest pair play beside attackers of one kind. Return whether all checks passed."""
    with Server() as server:
        async with HonestPair(server.port, source=HONEST_ADDRESS) as pair:
            await pair.measure(1)
            idle = server.count_descriptors()
            with run_attackers(options.attackers, attack, server.port, kind):
                await asyncio.sleep(2)
                felt, used = await pair.measure_with(server, options.seconds)
                waited = await measure_newcomer(server.port)
                more = server.count_descriptors() - idle
        fair = more <= options.attackers * 2 * MAX_CONNECTIONS_PER_ADDRESS + 8 and are_names_within_limit(
            server, MAX_NAMES_PER_HOUR + 2
        )
    print(f"{kind:17} {felt}, newcomer {waited:5.2f} s, {more:4} files, processor {used:4.0%}")
    return fair and not felt.drops and waited < 10


async def play_exhausted(options: argparse.Namespace) -> bool:
    """Let the honest pair play while attackers use up the server's open files. Return whether all checks passed."""
    with Server("--max-per-address", "1000", files=options.files) as server:
        async with HonestPair(server.port, source=HONEST_ADDRESS) as pair:
            with (
                run_attackers(options.attackers, attack, server.port, spectate.__name__),
                run_attackers(options.attackers, attack, server.port, connect_silently.__name__),
            ):
                await asyncio.sleep(2)
                felt = await pair.measure(options.seconds)
                used = server.count_descriptors()
    failed = [line for line in server.log if "can't" in line]
    print(f"{options.files:4} files, all wanted {felt}, {len(felt.starts)} matches begun, {used} files open")
    return not felt.drops and bool(felt.starts) and not failed


def main() -> int:
    options = read_options(__doc__, {"attackers": 1, "seconds": 1}, attackers=2, seconds=10.0, files=256)
    kinds = [connect_silently.__name__] if options.small else list(ATTACKS)

    async def run() -> bool:
        return all([await play_beside(options, kind) for kind in kinds] + [await play_exhausted(options)])

    return 0 if uvloop.run(run()) else 1


if __name__ == "__main__":
    sys.exit(main())
