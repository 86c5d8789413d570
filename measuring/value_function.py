"""Value functions, by which luck is measured. Each is a function of a position, fixed before the matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

Outcomes = Sequence[tuple[Fraction, Any]]
"""Every possible state after a move, with its exact probability, as `Game.outcomes` returns them."""
SeatValues = tuple[float, ...]
"""The value of a position for each seat. In points, 1 is a win, 0 the last place, tied seats share their points, and
the values of two seats sum to 1. Values may also have another unit.
"""
POINTS_UNIT = "points"
"""The name of the unit of luck that is measured in points."""


class ValueFunction(ABC):
    """A measure of luck for one config. Do not combine results that different value functions adjusted."""

    name: str
    unit: str = POINTS_UNIT
    """The unit of luck, such as points."""

    @abstractmethod
    def luck(self, before: Any, outcomes: Outcomes, after: Any) -> tuple[float, ...]:
        """Return the luck of each seat if `after`, one of the `outcomes`, followed `before`.

        The expectation of luck over the outcomes is 0 for every value function. Luck sums to 0 over the seats, except
        in games whose payoffs do not sum to 0.
        """


class LazyValue:
    """A constructor of a value function that takes minutes to run. It runs if the function is requested by name;
    callers that try all functions skip it.
    """

    def __init__(self, make: Callable[[Any], ValueFunction]) -> None:
        self._make = make

    def __call__(self, game: Any) -> ValueFunction:
        return self._make(game)


ValueFactories = Mapping[str, Callable[[Any], ValueFunction]]
"""The constructors of the value functions of a game under its config, by name, the best first."""


class PositionValue(ValueFunction):
    """A value function that assigns a value to each position. Luck is the value of the position after a chance event,
    less the expected value of the positions that were possible.
    """

    def __init__(self, name: str, values_by_seat: Callable[[Any], SeatValues], unit: str = POINTS_UNIT) -> None:
        self.name = name
        self.unit = unit
        self.worths = values_by_seat

    def luck(self, before: Any, outcomes: Outcomes, after: Any) -> tuple[float, ...]:
        luck = list(self.worths(after))
        for chance, outcome in outcomes:
            weight = float(chance)
            for seat, points in enumerate(self.worths(outcome)):
                luck[seat] -= weight * points
        return tuple(luck)


class NoLuck(ValueFunction):
    """A value function whose luck is always 0, for games without chance or to leave results unadjusted."""

    name = "none"

    def __init__(self, seats: int) -> None:
        self._nothing = (0.0,) * seats

    def luck(self, before: Any, outcomes: Outcomes, after: Any) -> tuple[float, ...]:
        return self._nothing
