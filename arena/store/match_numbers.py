"""Any number of matches in one statement: their numbers go in as a JSON array."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import json

AMONG = "IN (SELECT CAST(value AS bigint) FROM json_each(:numbers) AS told)"
"""In a statement that is told them by `among`."""


def among(numbers: Iterable[int]) -> dict[str, str]:
    """What such a statement is told."""
    return {"numbers": json.encode(list(numbers)).decode()}
