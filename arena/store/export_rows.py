"""Exporting matches as table rows: the columns of the tables, and the rows of the chosen matches in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from arena.store.archives import read_all_archived
from arena.store.dialect import execute
from arena.store.match_numbers import IN_NUMBERS_SQL, numbers_parameter
from arena.store.match_search import Search, match_numbers
from arena.store.views import VIEW_QUERIES

TEXT_TYPE, INTEGER_TYPE, REAL_TYPE, BOOLEAN_TYPE, TIME_TYPE = "text", "whole", "real", "truth", "time"
"""These are the types of columns in exported tables."""
_COLUMN_TYPES = {
    INTEGER_TYPE: "number seats plies place seat rank moves thought_ms rounds played won drawn lost ply "
    "clock_ms given_ms "
    "strikes",
    REAL_TYPE: "luck points payoff mu_before sigma_before mu_after sigma_after score mu sigma value",
    BOOLEAN_TYPE: "rated",
    TIME_TYPE: "started finished",
}
"""The names of the columns of each type, by type. All other columns are text."""
Columns = dict[str, str]
"""The type of each column of a table, by name."""


def _columns(names: str) -> Columns:
    """Return the types of the named columns. Columns with the same name have the same type in all tables."""
    kinds = {name: kind for kind, those in _COLUMN_TYPES.items() for name in those.split()}
    return {name: kinds.get(name, TEXT_TYPE) for name in names.split()}


MATCH_COLUMNS = _columns(
    "number match game config pool rated annulled season reason winner seats bots ranks plies started finished "
    "tournament place luck luck_by digest start"
)
"""The columns of the view `match_results`."""
SEAT_COLUMNS = _columns(
    "number match game pool seat bot version rank outcome points reason moves thought_ms "
    "mu_before sigma_before mu_after sigma_after payoff rounds"
)
"""The columns of the view `match_seats`."""
LADDER_COLUMNS = _columns("pool place bot score mu sigma played won drawn lost version payoff")
"""The columns of the view `ladder`."""
PLY_COLUMNS = _columns("number match ply seat bot move dice result out clock_ms thought_ms given_ms strikes value info")
"""The columns of exported plies (no database view has them): match number and id, then those of replay/ply_rows.py."""
_RECORDS_QUERY = """(
    SELECT number, id, data, archive FROM matches LEFT JOIN records ON records.match = matches.number
        WHERE data IS NOT NULL OR record_bytes IS NULL
) AS kept"""
"""The query for the record of each match. `data` is null if the record was removed or archived."""
_RESULTS_QUERY, _SEATS_QUERY = (f"({VIEW_QUERIES[name]}) AS {name}" for name in ("match_results", "match_seats"))
"""`_RESULTS_QUERY` is the query of the view `match_results`, `_SEATS_QUERY` that of `match_seats`. Exports use them
instead of the views, because any role that may read a view can lock it.
"""
EXPORT_BATCH_MATCHES = 200
"""The number of matches per batch. It is limited because their records may be long."""


class ExportBatch(NamedTuple):
    """A batch of matches to export: their rows, the rows of their seats, and their records as (number, id, data). All
    three are ordered by match number. `data` is None if the record was removed or its archive file is missing.
    """

    matches: list[tuple[Any, ...]]
    seats: list[tuple[Any, ...]]
    records: list[tuple[int, str, bytes | None]]


def export_matches(
    connection: Connection, search: Search, *, newest_first: bool = False, records: bool = False
) -> Iterator[ExportBatch]:
    """Yield the rows of all matches that fit `search`, in batches, in the order of storage or with `newest_first` in
    reverse order. With `records`, batches include the records. Matches that are stored meanwhile are not included.
    """
    numbers = match_numbers(connection, search)
    if newest_first:
        numbers = numbers[::-1]
    for at in range(0, len(numbers), EXPORT_BATCH_MATCHES):
        some = numbers[at : at + EXPORT_BATCH_MATCHES]
        rank = {number: at for at, number in enumerate(some)}
        found = (
            execute(connection, f"SELECT {columns} FROM {source} {IN_NUMBERS_SQL}", numbers_parameter(some)).all()
            for columns, source in (
                (", ".join(MATCH_COLUMNS), f"{_RESULTS_QUERY} WHERE number"),
                (", ".join(SEAT_COLUMNS), f"{_SEATS_QUERY} WHERE number"),
                ("number, id, data, archive", f"{_RECORDS_QUERY} WHERE number"),
            )[: 3 if records else 2]
        )
        ordered = [sorted((tuple(row) for row in rows), key=lambda row: rank[row[0]]) for rows in found]
        yield ExportBatch(ordered[0], ordered[1], _load_records(connection, ordered[2]) if records else [])


def _load_records(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> list[tuple[int, str, bytes | None]]:
    """Return the records of matches as (number, id, data), from the database or from their archive files."""
    found = read_all_archived(
        connection, {match: file for _, match, data, file in rows if data is None and file is not None}
    )
    return [(number, match, data or found.get(match)) for number, match, data, _ in rows]
