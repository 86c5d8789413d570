"""Measure how long an honest pair of bots waits for its turns while other bots use up their quotas, and when those bots
are cut off.

From each of several addresses, bots hold as many matches as they may start, of one of four kinds. `matches` are small
matches in which no bot moves. `maps` are matches of Risk, each on a large map of its own. `notes` are played at full
speed with a note on every move. `views` are played like `notes`, and the latest matches are watched again every second.
Then all bots are cut off at once.
Usage: python benchmarks/reliability/hoards.py [--kinds matches,maps] [--addresses 1,8,64] [--seconds 20] [--small]
Exit status 1 if an address exceeded a quota, a request of the pair was refused, or memory exceeded its limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
import time
import urllib.request
from itertools import count
from typing import Any

from rig import Closed, HonestPair, RawConnection, Server, make_map, run_attackers
from toolkit import read_options

MAX_MATCHES, MAX_MEMORY_MIB, MAX_STORED_MIB = 400, 96, 32
"""The quotas of an address: `MAX_MATCHES` matches, `MAX_MEMORY_MIB` of memory and `MAX_STORED_MIB` of disk per day.
They are below the defaults, because the runs are short.
"""
MAX_TOTAL_MEMORY_MIB = 512
"""The quota of memory of all addresses together, in MiB."""
CONNECTION_COUNT = 800
"""Maximum number of connections of all hoarding addresses together."""
PROCESS_COUNT = 8
"""Maximum number of processes in which the bots run."""
SLOTS = 64
"""Number of matches that each bot may play at a time."""
SERVER_MIB = 160.0
"""Memory in MiB that the server needs besides the quotas, for connections and for results on their way to disk."""


def make_seek(kind: str, names: tuple[str, str], number: int) -> dict[str, Any]:
    """Return the game and config that both bots of a pair seek for their match number `number`."""
    if kind == "maps":
        large = make_map(f"{names[0]} {number}", [[one, one + 1] for one in range(99)])
        return {"game": "risk-campaign", "config": {"map": large, "players": 2}}
    return {"game": "nim", "config": {"heaps": [1000], "take": [1]}}


async def hold_matches(port: int, source: str, seat: int, kind: str, names: tuple[str, str]) -> None:
    """Play as one of two bots that start as many matches with each other as their slots and quotas allow."""
    raw = await RawConnection.enter(port, names[seat], source=source, slots=SLOTS)
    numbers = count()

    def seek(number: int) -> None:
        what = make_seek(kind, names, number)
        raw.send(type="seek", id=str(number), opponent=names[1 - seat], rated=False, slow=True, **what)

    async def seek_again(number: int) -> None:
        await asyncio.sleep(1.0)
        seek(number)

    viewed: list[str] = []
    async with asyncio.TaskGroup() as group:
        if kind == "views" and seat == 0:
            group.create_task(watch_repeatedly(port, source, viewed))
        seek(next(numbers))
        begun = False
        with contextlib.suppress(Closed, ConnectionError):
            while True:
                told = await raw.receive()
                if told["type"] == "start":
                    viewed.append(told["match"])
                    raw.send(type="ready", match=told["match"])
                    for _ in range(0 if begun else SLOTS - 1):  # only a bot that came to a match may start more
                        seek(next(numbers))
                    begun = True
                elif told["type"] == "turn" and kind in ("notes", "views"):
                    info = {"note": "".join(chr(random.randrange(0x20000, 0x2A000)) for _ in range(250))}
                    raw.send(type="move", match=told["match"], ply=told["ply"], move=told["legal"][0], info=info)
                elif told["type"] == "end":
                    seek(next(numbers))
                elif told["type"] == "error" and told.get("ref", "").isdigit():
                    group.create_task(seek_again(int(told["ref"])))
                await raw.writer.drain()


async def watch_repeatedly(port: int, source: str, matches: list[str]) -> None:
    """Request to watch the latest of `matches` again every second, as a spectator."""
    raw = await RawConnection.enter(port, source=source)
    reading = asyncio.create_task(raw.discard())
    while not reading.done():
        for match in matches[-8:]:
            raw.send(type="watch", match=match)
        await asyncio.sleep(1)


async def run_pairs(port: int, sources: list[str], kind: str, pairs: int) -> None:
    """Run pairs of bots from each address. Pairs connect one after the other, because a server limits newcomers."""

    async def pair(source: str, number: int) -> None:
        await asyncio.sleep(number * 0.3)
        names = (f"{source}-{number}a".replace(".", "_"), f"{source}-{number}b".replace(".", "_"))
        await asyncio.gather(
            *(hold_matches(port, source, seat, kind, names) for seat in (0, 1)), return_exceptions=True
        )

    await asyncio.gather(*(pair(source, number) for source in sources for number in range(pairs)))


def run_hoard(number: int, port: int, addresses: int, kind: str) -> None:
    """Run the bots of process `number`. Each process has every `PROCESS_COUNT`-th address."""
    sources = [f"127.0.4.{one + 1}" for one in range(number, addresses, PROCESS_COUNT)]
    pairs = max(1, min(45, CONNECTION_COUNT // addresses // 2))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run_pairs(port, sources, kind, pairs))


def measure_health_check(port: int) -> float:
    """Return the seconds until the server answers a request of /healthz."""
    began = time.perf_counter()
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
        answer.read()
    return time.perf_counter() - began


def stored_mib(server: Server) -> float:
    """Return the size of the files in the server's data folder in MiB."""
    return sum(file.stat().st_size for file in server.data.rglob("*") if file.is_file()) / 2**20


async def measure(kind: str, addresses: int, seconds: float) -> bool:
    """Let bots hold as many matches of one kind as they may. Measure and print how the server and the honest pair fare.
    Return whether the matches and the memory kept within their limits, and nothing went wrong for the honest pair.
    """
    options = ["--slow-clock", "3000+0", "--registrations-per-hour", "100000"]
    options += ["--max-matches-per-address", str(MAX_MATCHES), "--match-memory-per-address", str(MAX_MEMORY_MIB)]
    options += ["--match-memory", str(MAX_TOTAL_MEMORY_MIB), "--stored-per-day-per-address", str(MAX_STORED_MIB)]
    with Server(*options) as server:
        async with HonestPair(server.port) as pair:
            alone = await pair.measure(max(2.0, seconds / 5))
            at_first = server.memory_mib()
            disk = stored_mib(server)
            memory, held, longest = 0.0, 0, 0.0
            processes = min(PROCESS_COUNT, addresses)
            with run_attackers(processes, run_hoard, server.port, addresses, kind):
                felt = None
                ends = time.perf_counter() + seconds
                pair.take_measurements()
                while time.perf_counter() < ends:
                    longest = max(longest, await asyncio.to_thread(measure_health_check, server.port))
                    memory, held = max(memory, server.memory_mib()), max(held, len(server.running_matches()))
                    await asyncio.sleep(0.2)
                felt = pair.take_measurements()
            gone, ends = 0.0, time.perf_counter() + max(2.0, seconds / 4)
            while time.perf_counter() < ends:
                gone = max(gone, await asyncio.to_thread(measure_health_check, server.port))
                await asyncio.sleep(0.05)
            after = pair.take_measurements()
            grown = stored_mib(server) - disk
    refused = [drop for one in (alone, felt, after) for drop in one.drops]
    allowed = addresses * (MAX_MATCHES + SLOTS) + 1
    most = at_first + SERVER_MIB + min(MAX_TOTAL_MEMORY_MIB, addresses * MAX_MEMORY_MIB)
    kept = f"{held} matches, {memory:.0f} MiB ({at_first:.0f} before), {grown:.0f} MiB of disk"
    print(f"{kind}, {addresses} addresses: {kept}")
    for what, one in (("alone", alone), ("beside", felt), ("cut off", after)):
        print(f"  {what:8}{one}")
    print(
        f"  /healthz answered after {longest * 1000:.0f} ms at most, {gone * 1000:.0f} when they were cut off",
        flush=True,
    )
    ok = not refused and held <= allowed and memory <= most
    if not ok:
        print(f"  BROKEN: {refused[:3]}, at most {allowed} matches and {most:.0f} MiB")
    return ok


def main() -> int:
    small = {"kinds": ["matches", "views"], "addresses": [2], "seconds": 3.0}
    kinds = ["matches", "maps", "notes", "views"]
    options = read_options(__doc__, small, kinds=kinds, addresses=[1, 8, 64], seconds=20.0)
    kept = True
    for kind in options.kinds:
        for addresses in options.addresses:
            kept &= asyncio.run(measure(kind, addresses, options.seconds))
    return 0 if kept else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
