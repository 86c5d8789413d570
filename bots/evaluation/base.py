"""What an evaluation is and counts for, the one that has no opinion, and the weights that make all features equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from protocol.games.base import Game

Evaluate = Callable[[Game[Any, Any], Any, int], float]
"""(rules, state, seat): how good an unfinished state is for the seat, strictly between −1 and 1."""
EQUAL = (1.0, 1.0, 1.0, 1.0)
WIN = 1_000_000.0
"""The value of a win now; one after n plies is worth WIN − n, so that the quicker win is chosen."""


class Scale(NamedTuple):
    """In which numbers a search values the states of a game."""

    win: float = WIN
    """That of a win now, above the longest play."""
    opinion: float = 1.0
    """What an evaluation of 1 is worth. Where there is chance it is nearly a win, so that a throw weighs hopes and wins
    alike; elsewhere only the order of values matters.
    """


def no_opinion(rules: Game[Any, Any], state: Any, seat: int) -> float:
    """The evaluation that calls every unfinished state a draw."""
    return 0.0
