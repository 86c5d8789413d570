"""The type and the scale of evaluations, and an evaluation that counts every state as a draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from protocol.games.base import Game

Evaluate = Callable[[Game[Any, Any], Any, int], float]
"""A function (rules, state, seat) -> how good an unfinished state is for the seat, strictly between −1 and 1."""
EQUAL_WEIGHTS = (1.0, 1.0, 1.0, 1.0)
"""The default weights of the four features of Risk."""
WIN_VALUE = 1_000_000.0
"""The default value of a win at a search's root. A win after n plies is worth n less, so a search prefers quick
wins."""


class ValueScale(NamedTuple):
    """The scale of the values that a search gives to the states of a game: what a win and an evaluation are worth."""

    win: float = WIN_VALUE
    """The value of a win at a search's root. It exceeds the number of plies of the longest match."""
    evaluation_factor: float = 1.0
    """The factor from an evaluation (from −1 to 1) to a search's value. In a game with chance it should be nearly
    `win`, because a search averages values over outcomes. In other games only the order of values matters."""


def evaluate_as_draw(rules: Game[Any, Any], state: Any, seat: int) -> float:
    """Return 0, the value of a draw, for every unfinished state."""
    return 0.0
