"""Who grades the moves of a game that is solved: what one was worth beside the best one. Found by the game's name."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, NamedTuple

from protocol.errors import UsageFault
from protocol.games.base import Game

_WHERE = {
    "nim": "machine.exact.heaps:judge_of",
    "grundy": "machine.exact.heaps:judge_of",
    "risk-duel": "machine.exact.duel:judge_of",
}


class Verdict(NamedTuple):
    """What the move played was worth to its seat, and a best move: expected results, win 1, draw 0, loss −1."""

    value: float
    best: Any
    best_value: float


Judge = Callable[[Any, Any], Verdict]
"""The verdict on a legal move in a state."""


def judge_of(game: Game[Any, Any]) -> Judge:
    """Who grades `game`. Raises `UsageFault` where nobody can."""
    if game.name not in _WHERE:
        *others, last = _WHERE
        raise UsageFault(f"{game.name} is not solved, so its moves have no grades: {', '.join(others)} and {last} have")
    judge: Judge = resolve_name(_WHERE[game.name])(game)
    return judge
