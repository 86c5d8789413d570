"""Measure how long the pages and the API take to answer over a large store, and the processor time per answer.

Each path is requested repeatedly, one after the other, from an `arena web` process over a made-up store (data.py). Some
paths are lists of matches with one, two, three or all filters. The program prints p50 and p95 in milliseconds over
HTTP. On a busy machine, processor time is more reliable. With `--postgresql`, the program starts a PostgreSQL server
(tests/postgres.py), copies the store to it, and requests each path from it as well.
Usage: python benchmarks/pages/answers.py [--data DIR] [--matches 1000000] [--bots 1000] [--times 40] [--postgresql]
    [--small]
Exit status 1 if an answer is not 200, differs between the two databases, or a p95 of SQLite is above 20 ms (not with
--small).
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import itertools
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from arena.store.leaderboards import leaderboard_page, pools_with_results
from arena.store.match_search import search_matches
from arena.store.tournaments import tournaments_page

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("", "../tests", "reliability")]

from data import make_database
from rig import child_processes, run_web
from season import copy_to_server
from toolkit import memory_mib, option, read_options

from arena.store.match_search import Search
from arena.store.store import Reader
from postgres import postgres_server

MAX_P95_MS = 20.0
"""Maximum 95th percentile of the times in milliseconds in which a path is answered."""
BUILTIN_BOT = "bot-0"
"""The name of the built-in bot in the made-up store."""
FILTERS = {
    "bot": BUILTIN_BOT,
    "opponent": "bot-1",
    "game": "nim",
    "reason": "no_show",
    "outcome": "lost",
    "since": "2025-06-01",
    "until": "2025-06-02",
}
"""The filters of the list of matches, each with the value that is requested."""


def addresses(reader: Reader) -> Iterator[str]:
    pool = max(
        reader.read(pools_with_results), key=lambda pool: reader.read(leaderboard_page, pool, limit=1).total or 0
    )
    tournament = reader.read(tournaments_page, limit=1).rows[0].tournament
    match = reader.read(search_matches, Search(), limit=1).rows[0].match
    far = reader.read(search_matches, Search(bot=BUILTIN_BOT), limit=500).next
    rare = reader.read(leaderboard_page, pool, sort="played", descending=False, limit=1).rows[0].bot
    filters = FILTERS | {"pool": pool, "tournament": tournament}
    yield "/"
    yield f"/leaderboard/{pool}?sort=played"
    yield f"/leaderboard/{pool}?search=bot-1"
    yield f"/bots/{BUILTIN_BOT}"
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
        yield f"{page}?bot={BUILTIN_BOT}&after={far}"
    yield f"/api/v1/leaderboard/{pool}"
    yield f"/api/v1/bots/{BUILTIN_BOT}"
    for what in ("history", "opponents", "seats", "versions", "endings"):
        yield f"/api/v1/bots/{BUILTIN_BOT}/{what}?pool={pool}"
    yield f"/api/v1/matches/{match}/result"
    yield "/api/v1/tournaments"
    yield f"/api/v1/tournaments/{tournament}"


def processor_ms(process: int) -> float:
    """Return the processor time of all threads of a process in milliseconds."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


def server_processor_ms(folder: Path) -> float:
    """Return the processor time of all child processes of a PostgreSQL server in milliseconds."""
    postmaster = (folder / "data" / "postmaster.pid").read_text().split()[0]
    return sum(map(processor_ms, child_processes(int(postmaster))))


class BenchmarkDatabase(NamedTuple):
    """A database to measure: its URL, and the folder of its database server, if it has one."""

    url: str
    server: Path | None


class BenchmarkSite(NamedTuple):
    """A site to measure: its web server's process id and port, and the folder of its database server, if any."""

    process: int
    port: int
    server: Path | None

    def busy(self) -> float:
        """Return the processor time that the site has used so far, in milliseconds."""
        return processor_ms(self.process) + (0.0 if self.server is None else server_processor_ms(self.server))


class Answers(NamedTuple):
    """The answers to the requests of one path: the highest HTTP status, a digest of the last body, the sorted response
    times in milliseconds (without the first answer), and the processor time of one answer.
    """

    status: int
    digest: bytes
    found: list[float]
    busy: float

    @property
    def p50(self) -> float:
        return statistics.median(self.found)

    @property
    def p95(self) -> float:
        return self.found[math.ceil(0.95 * len(self.found)) - 1]


def request(sites: list[BenchmarkSite], address: str, times: int) -> list[Answers]:
    """Request a path `times` + 1 times, from each site in turn. Return the answers of each site."""
    connections = [http.client.HTTPConnection("127.0.0.1", site.port) for site in sites]
    before = [site.busy() for site in sites]
    status, digests = [0] * len(sites), [b""] * len(sites)
    found: list[list[float]] = [[] for _ in sites]
    for _ in range(times + 1):
        for at, connection in enumerate(connections):
            began = time.perf_counter()
            connection.request("GET", address, headers={"accept-encoding": "gzip"})
            response = connection.getresponse()
            body = response.read()
            found[at].append(1000 * (time.perf_counter() - began))
            status[at] = max(status[at], response.status)
            digests[at] = hashlib.sha256(body).digest()
    for connection in connections:
        connection.close()
    return [
        Answers(status[at], digests[at], sorted(found[at][1:]), (site.busy() - before[at]) / (times + 1))
        for at, site in enumerate(sites)
    ]


def measure(databases: dict[str, BenchmarkDatabase], asked: list[str], times: int) -> dict[str, dict[str, Answers]]:
    """Request all paths from each database's web server. Print a line for each path, the slowest last, then totals.
    Return the answers by database and path.
    """
    with contextlib.ExitStack() as stack:
        sites = [BenchmarkSite(*stack.enter_context(run_web(where.url)), where.server) for where in databases.values()]
        answers = {address: request(sites, address, times) for address in asked}
        most = [memory_mib(site.process, "VmHWM") for site in sites]
    found = {name: {address: every[at] for address, every in answers.items()} for at, name in enumerate(databases)}
    for (name, answered), mib in zip(found.items(), most, strict=True):
        print(f"{name}\n{'p50':>8}{'p95':>8}{'busy':>8}  address")
        for address, one in sorted(answered.items(), key=lambda item: item[1].p95):
            failed = "" if one.status == 200 else f"  status {one.status}"
            print(f"{one.p50:8.2f}{one.p95:8.2f}{one.busy:8.2f}  {address}{failed}")
        every = answered.values()
        p50, p95, cost = (statistics.median(getattr(one, what) for one in every) for what in ("p50", "p95", "busy"))
        slow = sum(one.p95 > MAX_P95_MS for one in every)
        print(f"{len(every)} addresses, medians: p50 {p50:.2f} ms, p95 {p95:.2f} ms, busy {cost:.2f} ms")
        print(f"{slow} with p95 above {MAX_P95_MS:g} ms; {mib:.0f} MiB at most", flush=True)
    return found


@contextlib.contextmanager
def copy_to_postgresql(file: Path) -> Iterator[BenchmarkDatabase]:
    """Start a PostgreSQL server, copy a database to it, and yield the copy."""
    with postgres_server(durable=True) as server:
        yield BenchmarkDatabase(copy_to_server(server, file, "arena"), server.folder)


def compare(here: dict[str, Answers], there: dict[str, Answers]) -> int:
    """Compare PostgreSQL's answers with SQLite's. Print the comparison, and return how many answers differ."""
    for name in ("p50", "p95", "busy"):
        ratios = {address: getattr(there[address], name) / getattr(here[address], name) for address in here}
        worst = max(ratios, key=ratios.__getitem__)
        median, many = statistics.median(ratios.values()), sum(ratio > 2 for ratio in ratios.values())
        print(
            f"{name}, PostgreSQL to SQLite: median {median:.2f}; {many} above 2, at most {ratios[worst]:.2f} ({worst})"
        )
    differ = [address for address in here if here[address].digest != there[address].digest]
    for address in differ:
        print("DIFFERS:", address)
    return len(differ)


def main() -> None:
    options = read_options(
        __doc__,
        {"matches": 2000, "bots": 100, "times": 2},
        data=option(None, type=Path),
        matches=1_000_000,
        bots=1000,
        times=40,
        postgresql=option(False, "on a server as well"),
    )
    if options.times < 1:
        raise SystemExit(f"--times is {options.times}: 1 or more")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.data or Path(scratch)
        if not (folder / "arena.db").exists():
            make_database(folder / "arena.db", options.matches, options.bots)
        with contextlib.closing(Reader.open(folder / "arena.db")) as reader:
            asked = list(dict.fromkeys(addresses(reader)))
        databases = {"SQLite": BenchmarkDatabase(str(folder / "arena.db"), None)}
        with copy_to_postgresql(folder / "arena.db") if options.postgresql else contextlib.nullcontext() as server:
            if server is not None:
                databases["PostgreSQL"] = server
            found = measure(databases, asked, options.times)
        differ = compare(found["SQLite"], found["PostgreSQL"]) if options.postgresql else 0
    failed = any(one.status != 200 for every in found.values() for one in every.values())
    slow = any(one.p95 > MAX_P95_MS for one in found["SQLite"].values())
    raise SystemExit(1 if failed or differ or (slow and not options.small) else 0)


if __name__ == "__main__":
    main()
