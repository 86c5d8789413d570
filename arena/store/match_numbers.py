"""Passing any number of match numbers to one statement, as a JSON array."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import json

IN_NUMBERS_SQL = "IN (SELECT CAST(value AS bigint) FROM json_each(:numbers) AS told)"
"""The SQL condition for a column to be one of the numbers given by `numbers_parameter`."""


def numbers_parameter(numbers: Iterable[int]) -> dict[str, str]:
    """Return the parameter of a statement with `IN_NUMBERS_SQL`."""
    return {"numbers": json.encode(list(numbers)).decode()}
