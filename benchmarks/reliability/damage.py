"""Damage a database in one place at a time, and count what `arena db check` finds.

Random bits of the file are flipped, and random fields of rows overwritten. Damage that changes nothing readable (free
space in a page) is counted separately. Some facts cannot be checked against other data:

- when a bot was registered or seen, whether it is approved, revoked or a person's, and its display name
- a token hash that is valid but wrong
- the times of a tournament
- whether a match was rerated after its record was closed

The check fails if any other damage is not found, or if `arena db check` ends in an unexpected error.

    python benchmarks/reliability/damage.py [--bits 300] [--fields 300] [--seconds 5] [--seed 1] [--quick] [--small]
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from ledger import Ledger, RandomPlayer, finish_matches
from rig import Server, run_tasks
from toolkit import read_options

from arena.commands.db import check_match
from arena.ratings import rating_system
from arena.store.integrity_check import check_database
from arena.store.store import Store
from protocol.errors import BadRecord, Fault
from referee import record_reader

TABLES = ("bots", "tournaments", "matches", "seats", "ratings", "records")
"""The tables of the database whose fields are overwritten."""
UNCHECKABLE_COLUMNS = {
    "bots": {"created", "seen", "approved", "revoked", "person", "token_hash", "id", "display"},
    "tournaments": {"started", "finished"},
    "matches": {"rerated"},
}
"""The columns, by table, that cannot be checked against other data."""
Row = tuple[object, ...]


async def play(server: Server, seconds: float) -> None:
    await asyncio.to_thread(server.start)
    ledger = Ledger()
    players = [RandomPlayer(ledger, server.port, number, "nim", pace=0) for number in range(4)]
    async with run_tasks(*(player.run() for player in players)):
        await asyncio.sleep(seconds)
        await finish_matches(players, server)
    server.stop()


def read_rows(file: Path) -> dict[str, list[Row]] | None:
    """Return the rows of all tables, by table; None if some rows cannot be read."""
    try:
        with closing(sqlite3.connect(file)) as connection:
            return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES}
    except (sqlite3.Error, UnicodeDecodeError):  # the latter if even the error message is damaged
        return None


def read_columns(file: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(file)) as connection:
        return {
            table: [row[1] for row in connection.execute(f"SELECT * FROM pragma_table_info('{table}')")]
            for table in TABLES
        }


def check(file: Path, *, quick: bool) -> str:
    """Run the checks of `arena db check`. Return `found` or `not found`, or with which error they ended."""
    try:
        with closing(Store.open(file, create=False)) as store:
            return "found" if list(store.iterate(check_database, partial(check_match, quick=quick))) else "not found"
    except Fault:
        return "found"
    except Exception as exc:
        return f"ended in {type(exc).__name__}: {exc}"


def flip_bits(whole: bytes, count: int, rng: random.Random) -> Iterator[bytes]:
    """Yield copies of a database file, each with one flipped bit."""
    for _ in range(count):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        yield bytes(damaged)


def overwrite_fields(file: Path, count: int, rng: random.Random) -> Iterator[bytes]:
    """Yield copies of a database file, each with one field replaced by another value of its type."""
    columns = read_columns(file)
    whole = file.read_bytes()
    for _ in range(count):
        file.write_bytes(whole)
        table = rng.choice([table for table in TABLES if read_rows(file)[table]])  # type: ignore[index]
        column = rng.choice(columns[table])
        with closing(sqlite3.connect(file)) as connection:
            place, value = rng.choice(connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall())
            try:
                connection.execute(
                    f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (change_value(value, rng), place)
                )
            except sqlite3.IntegrityError:
                continue
            connection.commit()
        yield file.read_bytes()


def change_value(value: object, rng: random.Random) -> object:
    if isinstance(value, (int, float)):
        return value + rng.choice((-1, 1))
    if isinstance(value, (str, bytes)) and value:
        raw = bytearray(value if isinstance(value, bytes) else value.encode())
        raw[rng.randrange(len(raw))] ^= 1
        return bytes(raw) if isinstance(value, bytes) else raw.decode(errors="replace")
    return "x"


def is_uncheckable(before: dict[str, list[Row]], after: dict[str, list[Row]], columns: dict[str, list[str]]) -> bool:
    """Return whether two databases have the same rows and differ only in fields of `UNCHECKABLE_COLUMNS`."""
    for table in TABLES:
        if len(before[table]) != len(after[table]):
            return False
        for old, new in zip(before[table], after[table], strict=True):
            changed = {name for name, a, b in zip(columns[table], old, new, strict=True) if not _is_equal(a, b)}
            if not changed <= UNCHECKABLE_COLUMNS.get(table, set()):
                return False
    return True


def _describe_difference(
    before: dict[str, list[Row]], after: dict[str, list[Row]] | None, columns: dict[str, list[str]]
) -> str:
    """Return the names of the changed fields, each with its value before and after."""
    if after is None:
        return "what can't be read"
    changes = [
        f"{table}.{name}: {a!r:.100} -> {b!r:.100}"
        for table in TABLES
        for old, new in zip(before[table], after[table], strict=False)
        for name, a, b in zip(columns[table], old, new, strict=True)
        if a != b
    ]
    return "; ".join(changes) or "rows are missing or added"


def _is_equal(a: object, b: object) -> bool:
    """Return whether two values are equal, except for last digits of ratings and irrelevant bits of packed records."""
    if isinstance(a, float) and isinstance(b, float):
        return rating_system.nearly_equal(a, b)
    return a == b or (isinstance(a, bytes) and isinstance(b, bytes) and _unpack(a) == _unpack(b))


def _unpack(record: bytes) -> bytes:
    try:
        return record_reader.unpack(record, "")
    except BadRecord:
        return record


def main() -> None:
    small = {"bits": 30, "fields": 30, "seconds": 1}
    arguments = read_options(__doc__, small, bits=300, fields=300, seconds=5.0, seed=1, quick=False)
    chance = random.Random(arguments.seed)
    server = Server()
    asyncio.run(play(server, arguments.seconds))
    whole = (server.data / "arena.db").read_bytes()
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arena.db"
        file.write_bytes(whole)
        before, columns = read_rows(file), read_columns(file)
        assert before is not None
        began = time.perf_counter()
        assert check(file, quick=arguments.quick) == "not found"
        seconds = time.perf_counter() - began
        print(f"{len(before['matches'])} matches, {len(whole) // 1024} KiB, checked in {seconds:.2f} s")
        for what, copies in (
            ("bits turned over", flip_bits(whole, arguments.bits, chance)),
            ("fields written over", overwrite_fields(file, arguments.fields, chance)),
        ):
            count: Counter[str] = Counter()
            for copy in copies:
                file.write_bytes(copy)
                after = read_rows(file)
                outcome = check(file, quick=arguments.quick)
                if outcome == "not found" and after is not None and is_uncheckable(before, after, columns):
                    outcome = "no damage" if before == after else "of what nothing else tells"
                elif outcome != "found":
                    broken += 1
                    print("BROKEN:", outcome, _describe_difference(before, after, columns))
                count[outcome] += 1
                for beside in Path(folder).glob("arena.db-*"):
                    beside.unlink()
                file.write_bytes(whole)
            print(f"{count.total()} {what}: " + ", ".join(f"{number} {outcome}" for outcome, number in count.items()))
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
