"""What luck gave in matches, of two kept beside their results: it follows from their records, and takes time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, select, update

from arena.store.schema import matches, seats
from measuring.luck import Luck
from protocol.reasons import VOID


class MatchLuck(NamedTuple):
    """The points (a win is 1, a loss 0) that chance gave seat 0, by the value so named.

    With more than two seats `every` has those of each, and the match's is not kept in the store.
    """

    value: str
    points: float
    every: tuple[float, ...] = ()

    @property
    def by_seat(self) -> tuple[float, ...]:
        """What chance gave each seat."""
        return self.every or (self.points, -self.points)


def match_luck(luck: Luck) -> MatchLuck:
    """What is noted of the luck of a match."""
    return MatchLuck(luck.value, luck.total[0], luck.total if len(luck.total) > 2 else ())


def save_luck(connection: Connection, lucks: Mapping[str, MatchLuck]) -> None:
    """Note the luck of stored matches of two, by their ids, in place of what was noted; unknown ids are left out."""
    kept = {match: luck for match, luck in lucks.items() if not luck.every}
    if kept:
        connection.execute(
            update(matches)
            .where(matches.c.id == bindparam("match"))
            .values(luck=bindparam("points"), luck_by=bindparam("value")),
            [{"match": match, "points": luck.points, "value": luck.value} for match, luck in kept.items()],
        )


def luck_from_row(row: Any) -> MatchLuck | None:
    """What a row of a match notes; None where that is nothing, or nothing that luck can be."""
    noted = isinstance(row.luck, float) and isinstance(row.luck_by, str)
    return MatchLuck(row.luck_by, row.luck) if noted else None


def luck_of_tournament(connection: Connection, tournament: str) -> dict[str, MatchLuck]:
    """The luck of a tournament's matches, by their ids, as far as it was noted."""
    query = select(matches.c.id, matches.c.luck, matches.c.luck_by).where(matches.c.tournament == tournament)
    noted = ((row.id, luck_from_row(row)) for row in connection.execute(query))
    return {match: luck for match, luck in noted if luck is not None}


def find_problems(connection: Connection) -> Iterator[str]:
    """Which matches have luck that they can't have, a line each."""
    seated = select(func.count()).where(seats.c.match == matches.c.number).scalar_subquery()
    query = select(matches.c.id, matches.c.luck, matches.c.luck_by, matches.c.reason, seated.label("seats")).where(
        matches.c.luck.is_not(None) | matches.c.luck_by.is_not(None)
    )
    for row in connection.execute(query):
        if luck_from_row(row) is None:
            yield f"match {row.id}: its luck is {row.luck!r} by {row.luck_by!r}: it is points by a named value"
        elif row.reason == VOID or row.seats != 2:
            yield f"match {row.id}: it has luck, as only matches of two have that were not called off"
