"""Matches as rows of tables for others: what the columns are, and the rows of those chosen, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection

from arena.store.match_search import Search, match_numbers

TEXT, INTEGER, REAL, BOOLEAN, TIME = "text", "whole", "real", "truth", "time"
Columns = dict[str, str]
"""The names of a table's columns, each with what is in it."""

MATCHES: Columns = {
    "number": INTEGER,
    "match": TEXT,
    "game": TEXT,
    "config": TEXT,
    "pool": TEXT,
    "rated": BOOLEAN,
    "annulled": TEXT,
    "season": TEXT,
    "reason": TEXT,
    "winner": TEXT,
    "seats": INTEGER,
    "bots": TEXT,
    "ranks": TEXT,
    "plies": INTEGER,
    "started": TIME,
    "finished": TIME,
    "tournament": TEXT,
    "place": INTEGER,
    "luck": REAL,
    "luck_by": TEXT,
    "digest": TEXT,
}
"""Of the view `match_results`."""
SEATS: Columns = {
    "number": INTEGER,
    "match": TEXT,
    "game": TEXT,
    "pool": TEXT,
    "seat": INTEGER,
    "bot": TEXT,
    "version": TEXT,
    "rank": INTEGER,
    "outcome": TEXT,
    "points": REAL,
    "reason": TEXT,
    "moves": INTEGER,
    "thought_ms": INTEGER,
    "mu_before": REAL,
    "sigma_before": REAL,
    "mu_after": REAL,
    "sigma_after": REAL,
}
"""Of the view `match_seats`."""
LADDER: Columns = {
    "pool": TEXT,
    "place": INTEGER,
    "bot": TEXT,
    "score": REAL,
    "mu": REAL,
    "sigma": REAL,
    "played": INTEGER,
    "won": INTEGER,
    "drawn": INTEGER,
    "lost": INTEGER,
    "version": TEXT,
}
"""Of the view `ladder`."""
PLIES: Columns = {
    "number": INTEGER,
    "match": TEXT,
    "ply": INTEGER,
    "seat": INTEGER,
    "bot": TEXT,
    "move": TEXT,
    "dice": TEXT,
    "result": TEXT,
    "out": TEXT,
    "clock_ms": INTEGER,
    "thought_ms": INTEGER,
    "given_ms": INTEGER,
    "strikes": INTEGER,
    "value": REAL,
    "info": TEXT,
}
"""Of the plies, which are in no view: after number and match as `arena/replay/ply_rows.py` has them."""
BATCH_SIZE = 200
"""Matches: their records may be long."""


class Batch(NamedTuple):
    """The rows of some matches and their seats, and their records by number and id, all in the order of the numbers."""

    matches: list[tuple[Any, ...]]
    seats: list[tuple[Any, ...]]
    records: list[tuple[int, str, bytes]]


def export_matches(
    connection: Connection, search: Search, *, newest_first: bool = False, records: bool = False
) -> Iterator[Batch]:
    """The rows of all matches that fit, as they were at one moment, in the order in which they were stored.

    `newest_first` turns that around; with `records` theirs come along.
    """
    numbers = match_numbers(connection, search)
    if newest_first:
        numbers = numbers[::-1]
    for at in range(0, len(numbers), BATCH_SIZE):
        some = numbers[at : at + BATCH_SIZE]
        held = f"({', '.join(map(str, some))})"
        rank = {number: at for at, number in enumerate(some)}
        found = (
            connection.exec_driver_sql(f"SELECT {columns} FROM {source} IN {held}").all()
            for columns, source in (
                (", ".join(MATCHES), "match_results WHERE number"),
                (", ".join(SEATS), "match_seats WHERE number"),
                ("number, id, data", "records JOIN matches ON matches.number = records.match WHERE number"),
            )[: 3 if records else 2]
        )
        ordered = [sorted((tuple(row) for row in rows), key=lambda row: rank[row[0]]) for rows in found]
        yield Batch(ordered[0], ordered[1], ordered[2] if records else [])
