"""What grading a move gives: its worth beside the best one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Verdict(NamedTuple):
    """What the move played was worth to its seat, and a best move: expected results, win 1, draw 0, loss −1."""

    value: float
    best: Any
    best_value: float


Judge = Callable[[Any, Any], Verdict]
"""The verdict on a legal move in a state."""
