"""How long the pages and the API take to answer over a large store: p50 and p95 in milliseconds, over HTTP, and the
processor's time for an answer, which says more where the machine is busy.

Every address is asked again and again, one after the other, of an `arena web` process of its own over a made-up store
(data.py): among them the filters of the matches alone, in twos, in threes and all together.
Usage: python benchmarks/pages/answers.py [--data DIR] [--matches 1000000] [--bots 1000] [--times 40] [--small]
Exit status 1 if an answer is not 200, or a p95 is above 20 ms (not with --small).
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from arena.store.leaderboards import leaderboard_page, pools_with_results
from arena.store.match_search import search_matches
from arena.store.tournaments import tournaments_page

sys.path.append(str(Path(__file__).parents[1] / "reliability"))

from data import make
from rig import small_or_asked, web

from arena.store.match_search import Search
from arena.store.store import Reader

MOST = 20.0
"""Milliseconds."""
BOT = "bot-0"
"""The house bot."""
FILTERS = {
    "bot": BOT,
    "opponent": "bot-1",
    "game": "nim",
    "reason": "no_show",
    "outcome": "lost",
    "since": "2025-06-01",
    "until": "2025-06-02",
}


def addresses(reader: Reader) -> Iterator[str]:
    """What is asked: pages first, then the API."""
    pool = max(
        reader.read(pools_with_results), key=lambda pool: reader.read(leaderboard_page, pool, limit=1).total or 0
    )
    tournament = reader.read(tournaments_page, limit=1).rows[0].tournament
    match = reader.read(search_matches, Search(), limit=1).rows[0].match
    far = reader.read(search_matches, Search(bot=BOT), limit=500).next
    rare = reader.read(leaderboard_page, pool, sort="played", descending=False, limit=1).rows[0].bot
    filters = FILTERS | {"pool": pool, "tournament": tournament}
    yield "/"
    yield f"/leaderboard/{pool}?sort=played"
    yield f"/leaderboard/{pool}?search=bot-1"
    yield f"/bots/{BOT}"
    yield f"/bots/{rare}"
    yield f"/matches/{match}"
    yield "/tournaments"
    yield f"/tournaments/{tournament}"
    yield "/matches"
    for page in ("/matches", "/api/v1/matches"):
        for count in (1, 2, 3):
            for names in itertools.combinations(filters, count):
                if ("outcome" not in names or "bot" in names) and ("opponent" not in names or "bot" in names):
                    yield f"{page}?" + "&".join(f"{name}={filters[name]}" for name in names)
        yield f"{page}?" + "&".join(f"{name}={value}" for name, value in filters.items())
        yield f"{page}?bot={BOT}&after={far}"
    yield f"/api/v1/leaderboard/{pool}"
    yield f"/api/v1/bots/{BOT}"
    for what in ("history", "opponents", "seats", "versions", "endings"):
        yield f"/api/v1/bots/{BOT}/{what}?pool={pool}"
    yield f"/api/v1/matches/{match}/result"
    yield "/api/v1/tournaments"
    yield f"/api/v1/tournaments/{tournament}"


def busy(process: int) -> float:
    """Milliseconds that all threads of a process have been on a processor."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


def took(port: int, address: str, times: int) -> tuple[int, list[float]]:
    """The worst status, and the milliseconds of each answer but the first."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    status, found = 0, []
    for _ in range(times + 1):
        began = time.perf_counter()
        connection.request("GET", address, headers={"accept-encoding": "gzip"})
        response = connection.getresponse()
        response.read()
        found.append(1000 * (time.perf_counter() - began))
        status = max(status, response.status)
    connection.close()
    return status, found[1:]


def measure(folder: Path, times: int) -> tuple[int, int]:
    """Print a line for each address, the slowest last; how many failed, and how many were too slow."""
    with contextlib.closing(Reader.open(folder / "arena.db")) as reader:
        asked = list(dict.fromkeys(addresses(reader)))
    rows = []
    with web(folder) as (process, port):
        for address in asked:
            before = busy(process)
            status, found = took(port, address, times)
            each = (busy(process) - before) / (times + 1)
            p50, p95 = statistics.median(found), sorted(found)[math.ceil(0.95 * len(found)) - 1]
            rows.append((p95, p50, each, status, address))
    print(f"{'p50':>8}{'p95':>8}{'busy':>8}  address")
    for p95, p50, each, status, address in sorted(rows):
        print(f"{p50:8.2f}{p95:8.2f}{each:8.2f}  {address}{'' if status == 200 else f'  status {status}'}")
    failed = sum(status != 200 for *_, status, _ in rows)
    slow = sum(p95 > MOST for p95, *_ in rows)
    print(f"{len(rows)} addresses: {failed} failed, {slow} with p95 above {MOST:g} ms")
    return failed, slow


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--matches", type=int, default=1_000_000)
    parser.add_argument("--bots", type=int, default=1000)
    parser.add_argument("--times", type=int, default=40)
    options = small_or_asked(parser, matches=5000, bots=100, times=3)
    if options.times < 1:
        parser.error(f"--times is {options.times}: 1 or more")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.data or Path(scratch)
        if not (folder / "arena.db").exists():
            make(folder / "arena.db", options.matches, options.bots)
        failed, slow = measure(folder, options.times)
    raise SystemExit(1 if failed or (slow and not options.small) else 0)


if __name__ == "__main__":
    main()
