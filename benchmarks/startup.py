"""Measure the start-up time and the memory of `arena serve`, for several numbers of stored matches.

The program prints the seconds until the server is ready, the MiB of the server and of its web process after some pages
were requested, and the peak MiB of the two processes after bots have played.

Usage: python benchmarks/startup.py [--matches 1000 20000 100000] [--data DIR] [--times 3]
The databases are made like those of `season.py`. `--data` keeps and reuses them.
"""

from __future__ import annotations

import socket
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parent / "reliability"))
import season
from rig import TIMEOUT_S, Server, child_processes, start_bot
from toolkit import memory_mib, option, read_options

PAGES = ("/", "/matches", "/leaderboard", "/bots/student-07", "/api/v1/matches?limit=100")
"""The paths of the pages that are requested before memory is measured."""
MATCH_COUNT = 20
"""The number of matches that bots play before peak memory is measured."""


class StartupTimes(NamedTuple):
    """The measurements of a server's start: the seconds until it was ready, the MiB of the server and of its web
    process after pages were requested, and the peak MiB of the two processes after matches.
    """

    seconds: float
    server: float
    page: float
    server_most: float
    page_most: float


def measure_start(folder: Path) -> StartupTimes:
    told = folder / "notify"
    told.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.bind(str(told))
        notices.settimeout(60)
        server = Server("--web-port", "0", "--rated-per-pair", "0", environment={"NOTIFY_SOCKET": str(told)})
        server.data = folder
        began = time.perf_counter()
        with server:
            while "READY=1" not in notices.recv(4096).decode():
                pass
            seconds = time.perf_counter() - began
            url = server.wait_for_line("the page is at", TIMEOUT_S).split()[-1]
            for path in PAGES:
                _get(url + path)
            pid = server.process.pid
            page = child_processes(pid)[0]
            ready = memory_mib(pid, "VmRSS"), memory_mib(page, "VmRSS")
            _play_matches(server.url)
            peaks = memory_mib(pid, "VmHWM"), memory_mib(page, "VmHWM")
    told.unlink()
    return StartupTimes(seconds, *ready, *peaks)


def _play_matches(url: str) -> None:
    names = [f"new-{time.time_ns() // 1000 % 10**10}-{number}" for number in range(2)]
    bots = [start_bot("random", url, "--matches", str(MATCH_COUNT), "--name", name) for name in names]
    if any(bot.wait() for bot in bots):
        raise SystemExit("a bot failed")


def _get(url: str) -> None:
    with urllib.request.urlopen(url, timeout=60) as answer:
        answer.read()


def main() -> None:
    options = read_options(
        __doc__, matches=option([1000, 20_000, 100_000], type=int, nargs="+"), data=option(None, type=Path), times=3
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.data or Path(scratch)
        sizes = sorted(options.matches)
        if not (folder / str(sizes[-1]) / "arena.db").exists():
            season.make_databases(folder, sizes)
        print(f"{'matches':>9}{'s':>7}{'server':>8}{'page':>7}{'most':>7}{'page':>7}  MiB")
        for size in sizes:
            found = [measure_start(folder / str(size)) for _ in range(options.times)]
            median = StartupTimes(*(statistics.median(column) for column in zip(*found, strict=True)))
            print(
                f"{size:9}{median.seconds:7.2f}{median.server:8.1f}{median.page:7.1f}"
                f"{median.server_most:7.1f}{median.page_most:7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
