"""The luck of a match, as a value: workers measure it without the library of the database."""

from __future__ import annotations

from typing import NamedTuple

from measuring.luck import Luck


class MatchLuck(NamedTuple):
    """The points that chance gave seat 0, on a scale of 1 for a win and 0 for a loss. `value` names the value function
    behind it. With more than two seats, `every` has the points of each, and they are not stored.
    """

    value: str
    points: float
    every: tuple[float, ...] = ()

    @property
    def by_seat(self) -> tuple[float, ...]:
        """The points that chance gave each seat."""
        return self.every or (self.points, -self.points)


def match_luck(luck: Luck) -> MatchLuck:
    """Return the form of a match's luck that is stored."""
    return MatchLuck(luck.value, luck.total[0], luck.total if len(luck.total) > 2 else ())
