"""The registry of graders, which grade moves of solved games, by the game's name."""

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
    "nim": "games.theory.grader:grader_of",
    "grundy": "games.theory.grader:grader_of",
    "risk-duel": "games.risk.exact.table:grader_of",
    "kuhn": "games.poker.grader:grader_of",
    "leduc": "games.poker.grader:grader_of",
}
"""The function that makes the grader of each game, as `module:function`."""
SOLVED_GAMES = tuple(_GRADER_BY_GAME)
"""The games whose moves can be graded, if they are small enough."""

_SIZE_CHECK_BY_GAME = {"risk-duel": "games.risk.exact.table:can_grade"}
"""The function of a game that returns whether the game under a config is small enough for its moves to be graded. Games
that are not listed here need no such check.
"""
_SOLVING_CHECK_BY_GAME = {"risk-duel": "games.risk.exact.table:may_need_solving"}
"""The function of a game that returns whether a table may have to be solved before moves under a config are graded."""
_UNIT_BY_GAME = {"kuhn": "chips", "leduc": "chips"}
"""The units of move values, for games in which the values are not results. Chips are those won in the hand."""


def has_grader(game: Game[Any, Any]) -> bool:
    """Return whether moves of `game` can be graded. Nothing is solved for this."""
    limit = _SIZE_CHECK_BY_GAME.get(game.name)
    return game.name in _GRADER_BY_GAME and (limit is None or resolve_name(limit)(game))


def grader_of(game: Game[Any, Any]) -> Grader:
    """Return the grader of `game`. Raises `UsageFault` if it has none."""
    if game.name not in SOLVED_GAMES:
        *others, last = SOLVED_GAMES
        raise UsageFault(f"{game.name} is not solved, so its moves have no grades: {', '.join(others)} and {last} have")
    judge: Grader = resolve_name(_GRADER_BY_GAME[game.name])(game)
    return judge


def unit_of(game: Game[Any, Any]) -> str | None:
    """Return the unit of move values of a solved game; None for expected results."""
    return _UNIT_BY_GAME.get(game.name)


def may_need_solving(game: str, config: Mapping[str, Any]) -> bool:
    """Return whether grading a match may require a table that has not been solved yet."""
    return game in _SOLVING_CHECK_BY_GAME and bool(resolve_name(_SOLVING_CHECK_BY_GAME[game])(config))


def store_new_tables_in(folder: Path, max_bytes: int) -> None:
    """Store all tables that this process solves on demand from now on in `folder`, up to `max_bytes` bytes."""
    resolve_name("games.risk.exact.table:store_new_tables_in")(folder, max_bytes)
