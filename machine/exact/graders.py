"""Who grades the moves of a game that is solved, found by the game's name, and what a grade says."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, NamedTuple

from protocol.errors import UsageFault
from protocol.games.base import Game


class Verdict(NamedTuple):
    """What the move played was worth to its seat, and a best move: expected results, win 1, draw 0, loss −1."""

    value: float
    best: Any
    best_value: float


Judge = Callable[[Any, Any], Verdict]
"""The verdict on a legal move in a state."""

_WHERE = {
    "nim": "machine.exact.heaps:judge_of",
    "grundy": "machine.exact.heaps:judge_of",
    "risk-duel": "machine.exact.duel:judge_of",
}
SOLVED = tuple(_WHERE)
"""The games whose moves can be graded, if they are small enough."""

_LIMITS = {"risk-duel": "machine.exact.duel:can_judge"}
"""Which of their configs are not too large."""


def has_judge(game: Game[Any, Any]) -> bool:
    """Whether anybody can grade `game`. Nothing is solved to know it."""
    limit = _LIMITS.get(game.name)
    return game.name in _WHERE and (limit is None or resolve_name(limit)(game))


def judge_of(game: Game[Any, Any]) -> Judge:
    """Who grades `game`. Raises `UsageFault` where nobody can."""
    if game.name not in SOLVED:
        *others, last = SOLVED
        raise UsageFault(f"{game.name} is not solved, so its moves have no grades: {', '.join(others)} and {last} have")
    judge: Judge = resolve_name(_WHERE[game.name])(game)
    return judge
