"""Match numbers: the last one, and passing a list of any length to an SQL statement, as a JSON array."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from arena.store.dialect import execute, list_parameter

BEYOND_ALL_MATCHES = 2**62
"""A number larger than that of any match."""
IN_NUMBERS_SQL = "IN (SELECT CAST(value AS bigint) FROM {each:numbers} AS told)"
"""The SQL condition, after a column's name, that the column's value is one of the numbers in `numbers_parameter`."""


def numbers_parameter(numbers: Iterable[int]) -> dict[str, str]:
    """Return the SQL parameter for `IN_NUMBERS_SQL` that has these match numbers."""
    return list_parameter("numbers", numbers)


def last_match_number(connection: Connection) -> int:
    """Return the number of the last match; 0 if there is none."""
    return int(execute(connection, "SELECT coalesce(max(number), 0) FROM matches").scalar_one())
