"""Who grades the moves of a game that is solved, found by the game's name, and what a grade says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from protocol.errors import UsageFault
from protocol.games.base import Game


class Verdict(NamedTuple):
    """What the move played was worth to its seat, and a best move: expected results, win 1, draw 0, loss −1, or what
    the `unit` of the game says.
    """

    value: float
    best: Any
    best_value: float


Judge = Callable[[Any, Any], Verdict]
"""The verdict on a legal move in a state."""

_WHERE = {
    "nim": "machine.exact.heaps:judge_of",
    "grundy": "machine.exact.heaps:judge_of",
    "risk-duel": "machine.exact.duel:judge_of",
    "kuhn": "machine.exact.hand_values:judge_of",
    "leduc": "machine.exact.hand_values:judge_of",
}
SOLVED = tuple(_WHERE)
"""The games whose moves can be graded, if they are small enough."""

_LIMITS = {"risk-duel": "machine.exact.duel:can_judge"}
"""Which of their configs are not too large."""
_UNSOLVED = {"risk-duel": "machine.exact.duel:may_need_solving"}
"""For which of their configs a table may have to be made first."""
_UNITS = {"kuhn": "chips", "leduc": "chips"}
"""What moves are worth, where that is no result: chips of the hand."""


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


def unit_of(game: Game[Any, Any]) -> str | None:
    """What the moves of a solved game are valued in; None: in expected results."""
    return _UNITS.get(game.name)


def may_need_solving(game: str, config: Mapping[str, Any]) -> bool:
    """Whether grading a match of a game may take a table that nobody has made."""
    return game in _UNSOLVED and bool(resolve_name(_UNSOLVED[game])(config))


def keep_new_tables_in(folder: Path, most_bytes: int) -> None:
    """Have tables that this process solves by the way kept there, as many as so many bytes hold."""
    resolve_name("machine.exact.duel:keep_new_tables_in")(folder, most_bytes)
