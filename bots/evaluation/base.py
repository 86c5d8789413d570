"""What an evaluation is, the one that has no opinion, and the weights that make all features equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol.games.base import Game

Evaluate = Callable[[Game[Any, Any], Any, int], float]
"""(rules, state, seat): how good an unfinished state is for the seat, strictly between −1 and 1."""
EQUAL = (1.0, 1.0, 1.0, 1.0)


def no_opinion(rules: Game[Any, Any], state: Any, seat: int) -> float:
    """The evaluation that calls every unfinished state a draw."""
    return 0.0
