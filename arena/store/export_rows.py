"""Matches as rows of tables for others: what the columns are, and the rows of those chosen, some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

TEXT, WHOLE, REAL, TRUTH, TIME = "text", "whole", "real", "truth", "time"
Columns = dict[str, str]
"""The names of a table's columns, each with what is in it."""

MATCHES: Columns = {
    "number": WHOLE,
    "match": TEXT,
    "game": TEXT,
    "config": TEXT,
    "pool": TEXT,
    "rated": TRUTH,
    "annulled": TEXT,
    "season": TEXT,
    "reason": TEXT,
    "winner": TEXT,
    "seats": WHOLE,
    "bots": TEXT,
    "ranks": TEXT,
    "plies": WHOLE,
    "started": TIME,
    "finished": TIME,
    "tournament": TEXT,
    "place": WHOLE,
    "luck": REAL,
    "luck_by": TEXT,
    "digest": TEXT,
}
"""Of the view `match_results`."""
SEATS: Columns = {
    "number": WHOLE,
    "match": TEXT,
    "game": TEXT,
    "pool": TEXT,
    "seat": WHOLE,
    "bot": TEXT,
    "version": TEXT,
    "rank": WHOLE,
    "outcome": TEXT,
    "points": REAL,
    "reason": TEXT,
    "moves": WHOLE,
    "thought_ms": WHOLE,
    "mu_before": REAL,
    "sigma_before": REAL,
    "mu_after": REAL,
    "sigma_after": REAL,
}
"""Of the view `match_seats`."""
LADDER: Columns = {
    "pool": TEXT,
    "place": WHOLE,
    "bot": TEXT,
    "score": REAL,
    "mu": REAL,
    "sigma": REAL,
    "played": WHOLE,
    "won": WHOLE,
    "drawn": WHOLE,
    "lost": WHOLE,
    "version": TEXT,
}
"""Of the view `ladder`."""
PLIES: Columns = {
    "number": WHOLE,
    "match": TEXT,
    "ply": WHOLE,
    "seat": WHOLE,
    "bot": TEXT,
    "move": TEXT,
    "dice": TEXT,
    "result": TEXT,
    "out": TEXT,
    "clock_ms": WHOLE,
    "thought_ms": WHOLE,
    "given_ms": WHOLE,
    "strikes": WHOLE,
    "value": REAL,
    "info": TEXT,
}
"""Of the plies, which are in no view: after number and match as `arena/replay/rows.py` has them."""
AT_ONCE = 200
"""Matches: their records may be long."""


class Batch(NamedTuple):
    """The rows of some matches and their seats, and their records by number and id, all in the order of the numbers."""

    matches: list[tuple[Any, ...]]
    seats: list[tuple[Any, ...]]
    records: list[tuple[int, str, bytes]]


def batches(connection: Connection, numbers: Sequence[int], *, records: bool) -> Iterator[Batch]:
    """The matches with these numbers, in this order; without `records` theirs are left out."""
    for at in range(0, len(numbers), AT_ONCE):
        some = numbers[at : at + AT_ONCE]
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
