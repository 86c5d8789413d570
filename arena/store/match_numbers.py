"""Passing a list of match numbers of any length to an SQL statement, as a JSON array."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import json

IN_NUMBERS_SQL = "IN (SELECT CAST(value AS bigint) FROM json_each(:numbers) AS told)"
"""The SQL condition, after a column's name, that the column's value is one of the numbers in `numbers_parameter`."""


def numbers_parameter(numbers: Iterable[int]) -> dict[str, str]:
    """Return the SQL parameter for `IN_NUMBERS_SQL` that has these match numbers."""
    return {"numbers": json.encode(list(numbers)).decode()}
