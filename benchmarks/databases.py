"""Compare SQLite and PostgreSQL: how fast each stores results, and whether both hold the same arena afterwards.

The same matches (season.py) are stored on both, one per transaction and in batches. Then all ratings must be equal to
the last digit, `arena db check` must find both sound, and `arena db copy` to the server and back must change nothing.
The program starts its own PostgreSQL server (tests/postgres.py), which syncs commits to disk.
Usage: python benchmarks/databases.py [--matches 1000] [--batch 16]
Exit status 1 if any of these checks fails.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from season import play_matches
from sqlalchemy import Connection
from toolkit import read_options

from arena.commands.db import check_match
from arena.store.database import Database
from arena.store.database_copy import copy_database
from arena.store.database_url import open_database_url
from arena.store.dialect import execute
from arena.store.finish import StorableMatch, finish_matches, prepare_match
from arena.store.integrity_check import check_database
from arena.store.store import Store
from postgres import PostgresServer, postgres_server


def measure_storing(database: Database, matches: Sequence[StorableMatch], batch: int) -> str:
    """Store matches, `batch` in a transaction. Return a text: the results per second, and the processor time of
    each.
    """
    with closing(Store.open(database)) as store:
        began, busy = time.perf_counter(), time.process_time()
        for at in range(0, len(matches), batch):
            store.write(finish_matches, matches[at : at + batch])
        took, busy = time.perf_counter() - began, time.process_time() - busy
    return f"{len(matches) / took:6.0f} results a second, {1000 * busy / len(matches):.2f} ms of processor each"


def read_all_ratings(database: Database) -> list[tuple[Any, ...]]:
    """Return the rows of the bots' current ratings, then of all seats with their ratings before and after each
    match.
    """
    with closing(Store.open(database)) as store:
        return store.read(_read_all_ratings)


def _read_all_ratings(connection: Connection) -> list[tuple[Any, ...]]:
    now = execute(connection, "SELECT * FROM ratings ORDER BY bot, pool")
    then = execute(connection, "SELECT * FROM seats ORDER BY match, seat")
    return [tuple(row) for rows in (now, then) for row in rows]


def check_findings(database: Database) -> list[str]:
    with closing(Store.open(database)) as store:
        return list(store.iterate(check_database, check_match))


def dump_statements(file: Path) -> list[str]:
    """Return the contents of an SQLite file as sorted statements."""
    with closing(sqlite3.connect(file)) as connection:
        return sorted(connection.iterdump())


def print_claim(claim: str, *, holds: bool) -> bool:
    print(f"{claim}: {'yes' if holds else 'NO'}", flush=True)
    return holds


def compare_databases(folder: Path, server: PostgresServer, matches: Sequence[StorableMatch], batch: int) -> bool:
    """Compare SQLite and PostgreSQL, and print the results. Return whether all checks passed."""
    for name in ("singly", "batches", "copy"):
        server.execute(f"CREATE DATABASE {name}")
    where = {
        name: (open_database_url(folder / f"{name}.db"), open_database_url(server.url(name)))
        for name in ("singly", "batches")
    }
    for name, size in (("singly", 1), ("batches", batch)):
        for kind, one in zip(("SQLite", "PostgreSQL"), where[name], strict=True):
            print(f"{size:3} a transaction, {kind:10} {measure_storing(one, matches, size)}", flush=True)
    here, there = where["singly"]
    same = read_all_ratings(here)
    holds = print_claim(
        "ratings equal to the last digit",
        holds=all(read_all_ratings(one) == same for pair in where.values() for one in pair),
    )
    for one in (here, there):
        found = check_findings(one)
        holds &= print_claim(f"{type(one).__name__} is sound", holds=not found)
        for line in found:
            print(line)
    copy, back = open_database_url(server.url("copy")), folder / "back.db"
    copy_database(here, copy)
    copy_database(copy, open_database_url(back))
    assert here.file is not None
    holds &= print_claim(
        "copied there and back, all is the same", holds=dump_statements(here.file) == dump_statements(back)
    )
    return holds


def main() -> None:
    options = read_options(__doc__, matches=1000, batch=16)
    if min(options.matches, options.batch) < 1:
        raise SystemExit("--matches and --batch are 1 or more")
    matches = [prepare_match(closed) for closed in play_matches(options.matches)]
    print(f"{len(matches)} matches")
    with tempfile.TemporaryDirectory() as folder, postgres_server(durable=True) as server:
        raise SystemExit(0 if compare_databases(Path(folder), server, matches, options.batch) else 1)


if __name__ == "__main__":
    main()
