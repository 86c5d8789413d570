"""What luck is measured by: a function of positions that is fixed before the games."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

Outcomes = Sequence[tuple[Fraction, Any]]
"""Every state that may come, with its exact probability, as `Game.outcomes` gives them."""
SeatValues = tuple[float, ...]
"""By seat, in points: 1 is a win, 0 the last place, ties share; for two seats they sum to 1. Or in another unit."""
POINTS = "points"


class ValueFunction(ABC):
    """By what luck is measured, under one config. `name` says which it was, with a version: results freed of luck by
    different values are not to be put together.
    """

    name: str
    unit: str = POINTS
    """What luck is counted in."""

    @abstractmethod
    def luck(self, before: Any, outcomes: Outcomes, after: Any) -> tuple[float, ...]:
        """What chance gave each seat when `after` came of `before`, one of its `outcomes`.

        Its expectation over the outcomes is 0, whatever the value; it sums to 0 over the seats unless payoffs do not.
        """


class SlowToMake:
    """What makes a value in minutes: for who names it, and not for who goes through all that there are."""

    def __init__(self, make: Callable[[Any], ValueFunction]) -> None:
        self._make = make

    def __call__(self, game: Any) -> ValueFunction:
        return self._make(game)


ValueFactories = Mapping[str, Callable[[Any], ValueFunction]]
"""By name, what makes each value that a game has under its config, the best first."""


class PositionValue(ValueFunction):
    """The luck of an event is what came less what was to be expected: v(after) − Σ p v(outcome)."""

    def __init__(self, name: str, worths: Callable[[Any], SeatValues], unit: str = POINTS) -> None:
        self.name = name
        self.unit = unit
        self.worths = worths

    def luck(self, before: Any, outcomes: Outcomes, after: Any) -> tuple[float, ...]:
        luck = list(self.worths(after))
        for chance, outcome in outcomes:
            weight = float(chance)
            for seat, points in enumerate(self.worths(outcome)):
                luck[seat] -= weight * points
        return tuple(luck)


class NoLuck(ValueFunction):
    """No event gave anything: for games in which nothing is thrown, or where results are wanted as they are."""

    name = "none"

    def __init__(self, seats: int) -> None:
        self._nothing = (0.0,) * seats

    def luck(self, before: Any, outcomes: Outcomes, after: Any) -> tuple[float, ...]:
        return self._nothing
