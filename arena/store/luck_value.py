"""The luck of a match as it is stored. Workers create it, so this module does not import the database library."""

from __future__ import annotations

from typing import NamedTuple

from measuring.luck import Luck


class MatchLuck(NamedTuple):
    """The luck of a match: the `points` that chance gave seat 0, where a win is 1 and a loss 0. `value` names the value
    function that measured it. With more than two seats, `every` has the points that chance gave each seat. Such luck is
    not stored.
    """

    value: str
    points: float
    every: tuple[float, ...] = ()

    @property
    def by_seat(self) -> tuple[float, ...]:
        """The points that chance gave each seat."""
        return self.every or (self.points, -self.points)


def storable_luck(luck: Luck) -> MatchLuck:
    """Convert the computed luck of a match to the form in which it is stored."""
    return MatchLuck(luck.value, luck.total[0], luck.total if len(luck.total) > 2 else ())
