"""The luck of two-seat matches, stored beside their results because computing it from records takes time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from arena.store.luck_value import MatchLuck
from arena.store.schema import matches, seats
from protocol.reasons import VOID


def save_luck(connection: Connection, luck_by_match: Mapping[str, MatchLuck]) -> None:
    """Store the luck of two-seat matches by match id. Earlier values are replaced, and unknown ids are ignored."""
    kept = {match: luck for match, luck in luck_by_match.items() if not luck.every}
    if kept:
        connection.execute(
            update(matches)
            .where(matches.c.id == bindparam("match"))
            .values(luck=bindparam("points"), luck_by=bindparam("value")),
            [{"match": match, "points": luck.points, "value": luck.value} for match, luck in kept.items()],
        )


def luck_from_row(row: Any) -> MatchLuck | None:
    """Return the luck in a match's row; None if it is absent or invalid."""
    noted = isinstance(row.luck, float) and isinstance(row.luck_by, str)
    return MatchLuck(row.luck_by, row.luck) if noted else None


def luck_of_tournament(connection: Connection, tournament: str) -> dict[str, MatchLuck]:
    """Return the stored luck of a tournament's matches, by match id."""
    query = select(matches.c.id, matches.c.luck, matches.c.luck_by).where(matches.c.tournament == tournament)
    noted = ((row.id, luck_from_row(row)) for row in connection.execute(query))
    return {match: luck for match, luck in noted if luck is not None}


def find_problems(connection: Connection) -> Iterator[str]:
    """Yield a line for each match with invalid luck."""
    seated = select(func.count()).where(seats.c.match == matches.c.number).scalar_subquery()
    query = select(matches.c.id, matches.c.luck, matches.c.luck_by, matches.c.reason, seated.label("seats")).where(
        matches.c.luck.is_not(None) | matches.c.luck_by.is_not(None)
    )
    for row in connection.execute(query):
        if luck_from_row(row) is None:
            yield f"match {row.id}: its luck is {row.luck!r} by {row.luck_by!r}: it must be points by a value function"
        elif row.reason == VOID or row.seats != 2:
            yield f"match {row.id}: it has luck, but only matches of two seats that are not void may have luck"
