"""The registry of graders, by the game's name. A grader grades moves of a solved game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from protocol.errors import UsageFault
from protocol.games.base import Game


class MoveGrade(NamedTuple):
    """The grade of a move: its value for its seat, a best move, and the value of the best move.

    Values are expected results (win 1, draw 0, loss −1), or in the `unit_of` the game.
    """

    value: float
    best: Any
    best_value: float


Grader = Callable[[Any, Any], MoveGrade]
"""The type of a function that grades a legal move in a state."""

_GRADER_BY_GAME = {
    "nim": "machine.exact.heaps:grader_of",
    "grundy": "machine.exact.heaps:grader_of",
    "risk-duel": "machine.exact.duel:grader_of",
    "kuhn": "machine.exact.hand_values:grader_of",
    "leduc": "machine.exact.hand_values:grader_of",
}
"""The function that makes the grader, by game, as `module:function`."""
SOLVED_GAMES = tuple(_GRADER_BY_GAME)
"""The games whose moves can be graded, if they are small enough."""

_SIZE_CHECK_BY_GAME = {"risk-duel": "machine.exact.duel:can_grade"}
"""The function, by game, that returns whether the game under a config is small enough for its moves to be graded. Games
that are not listed here always are.
"""
_SOLVING_CHECK_BY_GAME = {"risk-duel": "machine.exact.duel:may_need_solving"}
"""The function, by game, that returns whether a table may have to be solved before moves under a config are graded."""
_UNIT_BY_GAME = {"kuhn": "chips", "leduc": "chips"}
"""The unit of move values, by game, unless these are expected results. Chips are those won in the hand."""


def has_grader(game: Game[Any, Any]) -> bool:
    """Return whether moves of `game` can be graded. Nothing is solved for this."""
    limit = _SIZE_CHECK_BY_GAME.get(game.name)
    return game.name in _GRADER_BY_GAME and (limit is None or resolve_name(limit)(game))


def grader_of(game: Game[Any, Any]) -> Grader:
    """Return the grader of `game`. Raise `UsageFault` if it has none."""
    if game.name not in SOLVED_GAMES:
        *others, last = SOLVED_GAMES
        raise UsageFault(f"{game.name} is not solved, so its moves have no grades: {', '.join(others)} and {last} have")
    judge: Grader = resolve_name(_GRADER_BY_GAME[game.name])(game)
    return judge


def unit_of(game: Game[Any, Any]) -> str | None:
    """Return the unit of a solved game's move values; None if they are expected results."""
    return _UNIT_BY_GAME.get(game.name)


def may_need_solving(game: str, config: Mapping[str, Any]) -> bool:
    """Return whether grading a match may require a table that has not been solved yet."""
    return game in _SOLVING_CHECK_BY_GAME and bool(resolve_name(_SOLVING_CHECK_BY_GAME[game])(config))


def store_new_tables_in(folder: Path, max_bytes: int) -> None:
    """Store all tables that this process solves on demand from now on in `folder`, up to `max_bytes` bytes."""
    resolve_name("machine.exact.duel:store_new_tables_in")(folder, max_bytes)
