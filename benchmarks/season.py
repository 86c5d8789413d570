"""Measure commands that read all matches: seconds, processor seconds, and peak memory.

`ratio` is the processor seconds divided by those for half as many matches. Thirty bots play rated matches at random, in
four pools, with valid records.
Usage: python benchmarks/season.py [--matches 100000] [--data DIR] [--only WORD] [--postgresql]
The largest database has `--matches` matches; two smaller ones have a half and a quarter of them. `--data` keeps and
reuses the databases. With `--postgresql`, the program starts a PostgreSQL server (tests/postgres.py), copies each
database to it and measures it as well; `busy` is then the processor time of the command without that of the server.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from toolkit import memory_mib, option, read_options

from arena.store.backup import back_up
from arena.store.database_copy import copy_database
from arena.store.database_url import open_database_url
from arena.store.finish import StorableMatch, finish_matches, prepare_match
from arena.store.store import Store
from bots.playing.players import Players
from machine.timestamps import utc_now
from postgres import PostgresServer, postgres_server
from protocol.bot_launch import parse_bot_spec
from protocol.games import load_game
from protocol.games.base import Game
from protocol.messages import Clock
from referee.footer import ClosedMatch
from referee.record import RecordedSeat, make_header

SEED = 20_261_123
"""The seed from which all matches are made."""
BOTS = [f"student-{number:02}" for number in range(30)]
"""The names of the bots that play the matches."""
POOLS = (("nim", "classic"), ("nim", "sticks"), ("tictactoe", "classic"), ("risk-duel", "south-america"))
"""The rating pools of the matches, named after a game and a preset."""
CLOCK = Clock(bank_ms=60_000, increment_ms=500)
"""The clock of the matches."""
BATCH_SIZE = 500
"""Number of matches that are stored in one transaction."""
SAMPLE_INTERVAL_S = 0.01
"""Seconds between two measurements of a process's memory."""
COMMANDS = (
    "matches",
    "matches --bot student-07 --lost --csv",
    "matches --json",
    "leaderboard",
    "export --no-plies --to OUT",
    "export --to OUT",
    "export --format parquet --to OUT",
    "db check --quick",
    "db check",
    "db rebuild-ratings",
)
"""The `arena` commands to measure. `OUT` stands for an output path."""


class Cost(NamedTuple):
    """The cost of a process: wall clock and processor seconds, and peak memory in MiB."""

    wall: float
    busy: float
    peak: float


def play_matches(count: int) -> Iterator[ClosedMatch]:
    """Play `count` matches. Except for their times, they are the same at every call with this count."""
    chance = Random(SEED)
    games: list[tuple[Game[Any, Any], str]] = []
    for game, preset in POOLS:
        games.append((load_game(game, {"preset": preset}), f"{game}/{preset}"))
    players = {
        pool: Players([parse_bot_spec(f"{bot}=random", "1") for bot in BOTS], rules, lambda name, said: None)
        for rules, pool in games
    }
    for number in range(count):
        rules, pool = chance.choice(games)
        seed = chance.randbytes(32)
        seats = [RecordedSeat(bot=bot) for bot in chance.sample(BOTS, rules.seats)]
        match = f"260901-{number // 3600:06}-{number:08x}"
        header = make_header(match=match, game=rules, seats=seats, seed=seed, pool=pool, clock=CLOCK, started=utc_now())
        yield players[pool].play(header, seed)


def make_databases(folder: Path, sizes: list[int]) -> None:
    """Make databases with these numbers of matches. Smaller ones are copies of the largest, made while it grew."""
    (folder / str(sizes[-1])).mkdir(parents=True)
    file = folder / str(sizes[-1]) / "arena.db"
    batch: list[StorableMatch] = []
    with closing(Store.open(file)) as store:
        for number, closed in enumerate(play_matches(sizes[-1]), 1):
            batch.append(prepare_match(closed))
            if len(batch) == BATCH_SIZE or number in sizes:
                store.write(finish_matches, batch)
                batch = []
            if number in sizes[:-1]:
                (folder / str(number)).mkdir()
                back_up(store.database, folder / str(number) / "arena.db")


def measure_command(words: str, folder: Path, url: str | None) -> Cost:
    """Run a command on a data folder, or on the database at `url`. Return its cost. Raise `SystemExit` on failure."""
    out = folder / "out"
    command = [sys.executable, "-m", "arena", *words.replace("OUT", str(out)).split(), "--data", str(folder)]
    where = {} if url is None else {"ARENA_DB": url}
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | where)
    peak = 0.0
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        peak = max(peak, memory_mib(process.pid, "VmHWM"))  # the usage at its exit includes the memory of this program
        time.sleep(SAMPLE_INTERVAL_S)
    wall = time.perf_counter() - began
    _, status, usage = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"arena {words} failed")
    shutil.rmtree(out, ignore_errors=True)
    return Cost(wall, usage.ru_utime + usage.ru_stime, peak)


def measure(folder: Path, sizes: list[int], only: str, urls: dict[int, str]) -> None:
    """Measure and print a line for each command, size and database. `urls` are PostgreSQL databases by size."""
    print(f"{'arena':40}{'matches':>9}{'on':>12}{'s':>9}{'busy s':>9}{'ratio':>7}{'MiB':>7}")
    for words in COMMANDS:
        if only not in words:
            continue
        for name, where in (("SQLite", dict.fromkeys(sizes)), ("PostgreSQL", urls)):
            before = None
            for size, url in where.items():
                found = measure_command(words, folder / str(size), url)
                ratio = "" if before is None else f"{found.busy / before:.2f}"
                seconds = f"{found.wall:9.2f}{found.busy:9.2f}"
                print(f"{words:40}{size:9}{name:>12}{seconds}{ratio:>7}{found.peak:7.0f}", flush=True)
                before = found.busy


def copy_to_server(server: PostgresServer, file: Path, name: str) -> str:
    """Copy a database file into a new database of a server, and return the URL of the copy."""
    server.execute(f"CREATE DATABASE {name}")
    copy_database(open_database_url(file), open_database_url(server.url(name)))
    server.execute("VACUUM ANALYZE", name)
    return server.url(name)


def main() -> None:
    options = read_options(
        __doc__,
        matches=100_000,
        data=option(None, type=Path),
        only=option("", "commands with this in them"),
        postgresql=option(False, "on a server as well"),
    )
    if options.matches < 4:
        raise SystemExit(f"--matches is {options.matches}: 4 or more")
    sizes = [options.matches // 4, options.matches // 2, options.matches]
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.data or Path(scratch)
        if not (folder / str(sizes[-1]) / "arena.db").exists():
            make_databases(folder, sizes)
        if not options.postgresql:
            measure(folder, sizes, options.only, {})
            return
        with postgres_server(durable=True) as server:
            urls = {size: copy_to_server(server, folder / str(size) / "arena.db", f"of_{size}") for size in sizes}
            measure(folder, sizes, options.only, urls)


if __name__ == "__main__":
    main()
