"""Measure how long a visitor waits for web pages while 1, 8 and 64 addresses flood them, and the memory of the web
process.

`arena web` shows a short and a very long match. The visitor requests small pages one after the other, and once a second
the short match with the state of every ply. Each flooding address has four connections. They request the long match
with the state of every ply and hang up, read the answer slowly, or send endless bodies.
Usage: python benchmarks/reliability/page_floods.py [--seconds 10] [--rounds 1000] [--addresses 1,8,64] [--small]
Exit status 1 if an answer to the visitor failed, or if the process took more than 300 MiB. Without --small also if the
visitor's p50 is more than three times the p50 without a flood, or if the slowest answer is more than a second slower
than without a flood.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import uvloop
from rig import RawConnection, get_status, make_map, repeat, run_attackers, run_web
from toolkit import memory_mib, read_options

from arena.store.finish import finish_matches, prepare_match
from arena.store.store import Store
from bots.playing.matches import play_all
from protocol.messages import Clock

MAX_MEMORY_MIB = 300.0
"""Maximum memory of the web process in MiB."""
MAX_P50_RATIO, MAX_EXTRA_DELAY_S = 3.0, 1.0
"""The visitor's limits under a flood. The median time may be `MAX_P50_RATIO` times that without a flood, and the
slowest answer may take `MAX_EXTRA_DELAY_S` seconds longer than the slowest without a flood.
"""
CONNECTIONS_PER_ADDRESS = 4
"""Number of connections of each flooding address."""
CLOCK = Clock(bank_ms=60_000_000, increment_ms=1000)
"""The clock of the stored matches."""
PAGES = ("/", "/matches", "/api/v1/bots?limit=3")
"""The paths of the small pages that the visitor requests."""
VISITOR_ADDRESS = "127.0.0.9"
"""The loopback address of the visitor."""


def fill_store(data: Path, rounds: int) -> tuple[str, str]:
    """Fill a data folder with a short match and a campaign of `rounds` rounds. Return their ids."""
    chain = make_map("chain", [[i, i + 1] for i in range(99)])
    campaign = {"map": chain, "players": 6, "battle": "deterministic", "max_rounds": rounds, "initial_units": 100}
    filled = Store.open(data / "arena.db")
    ids = []
    for game, seats, config in (("nim", 2, {}), ("risk-campaign", 6, campaign | {"max_attacks": 20})):
        bots = [f"bot-{seat}=random" for seat in range(seats)]
        (played,) = play_all(bots, game, [1], config=config or None, clock=CLOCK)
        filled.write(finish_matches, [prepare_match(played.closed)])
        ids.append(played.closed.result.match)
    filled.close()
    short, long = ids
    return short, long


def flood(number: int, port: int, kind: str, addresses: int, match: str) -> None:
    uvloop.run(_flood(port, kind, addresses, match))


async def _flood(port: int, kind: str, addresses: int, match: str) -> None:
    attack = {"hang up": hang_up, "read slowly": read_slowly, "bodies": send_bodies}[kind]
    sources = [f"127.0.1.{1 + number}" for number in range(addresses)]
    await asyncio.gather(
        *(
            repeat(partial(_attack_once, attack, port, source, match), pause_s=0.05)
            for source in sources
            for _ in range(CONNECTIONS_PER_ADDRESS)
        )
    )


async def _attack_once(
    attack: Callable[[RawConnection, str], Awaitable[None]], port: int, source: str, match: str
) -> None:
    raw = await RawConnection.connect(port, source=source, receive_buffer=4096)
    try:
        await attack(raw, match)
    finally:
        raw.close()


async def request_match(raw: RawConnection, match: str) -> None:
    await raw.write(f"GET /api/v1/matches/{match} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


async def hang_up(raw: RawConnection, match: str) -> None:
    """Request the long match, and hang up when the answer begins or after half a second."""
    await request_match(raw, match)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(raw.reader.read(1), 0.5)


async def read_slowly(raw: RawConnection, match: str) -> None:
    """Request the long match, and read the answer slowly in small parts."""
    await request_match(raw, match)
    while await raw.reader.read(4096):  # noqa: ASYNC110 - slowness is the point
        await asyncio.sleep(0.5)


async def send_bodies(raw: RawConnection, match: str) -> None:
    await raw.write(b"POST /api/v1/games HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000000\r\n\r\n")
    while True:
        await raw.write(bytes(65536))


class VisitTimes:
    """The visitor's measurements: how many seconds small pages took, how many seconds requests for the shorter of the
    two stored matches took, and which requests failed.
    """

    def __init__(self) -> None:
        self.pages: list[float] = []
        self.matches: list[float] = []
        self.failed: list[str] = []
        self.memory = 0.0
        """The peak memory of the web process in MiB."""

    @property
    def longest(self) -> float:
        """The seconds of the slowest answer to the visitor."""
        return max(self.pages + self.matches)

    @property
    def p50(self) -> float:
        """The median of the seconds that small pages took."""
        return statistics.median(self.pages)


def measure_visit(process: int, port: int, match: str, seconds: float) -> VisitTimes:
    felt = VisitTimes()
    began = time.perf_counter()
    number = 0
    while (now := time.perf_counter()) < began + seconds or not (felt.matches and felt.pages):
        to, address = felt.pages, PAGES[number % len(PAGES)]
        if now > began + len(felt.matches):
            to, address = felt.matches, f"/api/v1/matches/{match}"
        number += 1
        try:
            if (status := get_status(port, address, VISITOR_ADDRESS)) != 200:
                felt.failed.append(f"{address}: {status}")
        except (OSError, http.client.HTTPException) as exc:
            felt.failed.append(f"{address}: {exc!r}")
        to.append(time.perf_counter() - now)
        felt.memory = max(felt.memory, memory_mib(process))
        time.sleep(0.01)
    return felt


def main() -> int:
    small = {"seconds": 1.5, "rounds": 100, "addresses": [64]}
    options = read_options(__doc__, small, seconds=10.0, rounds=1000, addresses=[1, 8, 64])
    fine = True
    with tempfile.TemporaryDirectory() as scratch:
        short, long = fill_store(Path(scratch), options.rounds)
        with run_web(str(Path(scratch) / "arena.db")) as (process, port):
            measure_visit(process, port, short, 1)
            quiet = measure_visit(process, port, short, options.seconds)
            print_line("nothing", quiet, quiet)
            for kind in ("hang up", "read slowly", "bodies"):
                for addresses in options.addresses:
                    with run_attackers(1, flood, port, kind, addresses, long):
                        time.sleep(1.5)
                        felt = measure_visit(process, port, short, options.seconds)
                    print_line(f"{addresses} addresses: {kind}", felt, quiet)
                    fine &= not felt.failed and felt.memory <= MAX_MEMORY_MIB
                    slow = felt.p50 > MAX_P50_RATIO * quiet.p50 or felt.longest > quiet.longest + MAX_EXTRA_DELAY_S
                    fine &= options.small or not slow
    return 0 if fine else 1


def print_line(what: str, times: VisitTimes, baseline: VisitTimes) -> None:
    failed = f"; {len(times.failed)} failed: {times.failed[0]}" if times.failed else ""
    print(
        f"{what:26} {len(times.pages):5} pages: p50 {1000 * times.p50:6.1f} ms ({times.p50 / baseline.p50:4.1f} "
        f"times), longest {1000 * max(times.pages):6.0f}; short match {1000 * statistics.median(times.matches):6.1f}, "
        f"longest {1000 * max(times.matches):6.0f}; {times.memory:4.0f} MiB{failed}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
