"""The luck of two-seat matches, stored beside their results because computing it from records takes time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection

from arena.store.dialect import execute
from arena.store.luck_value import MatchLuck
from protocol.reasons import VOID

_WITH_LUCK = """SELECT id, luck, luck_by, reason, (SELECT count(*) FROM seats WHERE match = matches.number) AS seats
FROM matches WHERE luck IS NOT NULL OR luck_by IS NOT NULL"""


def save_luck(connection: Connection, luck_by_match: Mapping[str, MatchLuck]) -> None:
    """Store the luck of two-seat matches by match id. Earlier values are replaced, and unknown ids are ignored."""
    kept = {match: luck for match, luck in luck_by_match.items() if not luck.every}
    if kept:
        rows = [{"match": match, "points": luck.points, "value": luck.value} for match, luck in kept.items()]
        execute(connection, "UPDATE matches SET luck = :points, luck_by = :value WHERE id = :match", rows)


def luck_from_row(row: Any) -> MatchLuck | None:
    """Return the luck in a match's row; None if it is absent or invalid."""
    noted = isinstance(row.luck, float) and isinstance(row.luck_by, str)
    return MatchLuck(row.luck_by, row.luck) if noted else None


def luck_of_tournament(connection: Connection, tournament: str) -> dict[str, MatchLuck]:
    """Return the stored luck of a tournament's matches, by match id."""
    query = "SELECT id, luck, luck_by FROM matches WHERE tournament = :tournament"
    noted = ((row.id, luck_from_row(row)) for row in execute(connection, query, {"tournament": tournament}))
    return {match: luck for match, luck in noted if luck is not None}


def find_problems(connection: Connection) -> Iterator[str]:
    """Yield a line for each match with invalid luck."""
    for row in execute(connection, _WITH_LUCK):
        if luck_from_row(row) is None:
            yield f"match {row.id}: its luck is {row.luck!r} by {row.luck_by!r}: it must be points by a value function"
        elif row.reason == VOID or row.seats != 2:
            yield f"match {row.id}: it has luck, but only matches of two seats that are not void may have luck"
