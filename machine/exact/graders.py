"""The registry of graders, by the game's name. A grader grades moves of a solved game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from protocol.errors import UsageFault
from protocol.games import game_part, game_spec, games_with
from protocol.games.base import Game


class MoveGrade(NamedTuple):
    """The grade of a move: its value for its seat, a best move, and the value of the best move.

    Values are expected results (win 1, draw 0, loss −1), unless `unit_of` names another unit for the game.
    """

    value: float
    best: Any
    best_value: float


Grader = Callable[[Any, Any], MoveGrade]
"""The type of a function that takes a state and a legal move, and grades the move."""


def solved_games() -> tuple[str, ...]:
    """Return the games that have a grader. A grader may require a config that is small enough."""
    return games_with("grader")


def has_grader(game: Game[Any, Any]) -> bool:
    """Return whether moves of `game` can be graded. No table is solved for this."""
    is_small_enough = game_part(game.name, "grading_check")
    return game.name in solved_games() and (is_small_enough is None or is_small_enough(game))


def grader_of(game: Game[Any, Any]) -> Grader:
    """Return the grader of `game`. Raise `UsageFault` if the game has none."""
    make: Callable[[Game[Any, Any]], Grader] | None = game_part(game.name, "grader")
    if make is None:
        *others, last = solved_games()
        raise UsageFault(f"{game.name} is not solved, so its moves have no grades: {', '.join(others)} and {last} have")
    return make(game)


def unit_of(game: Game[Any, Any]) -> str | None:
    """Return the name of the unit of a game's move values. Return None if the values are expected results, which have
    no unit.
    """
    return game_spec(game.name).move_value_unit or ("points" if game.payoff_unit else None)


def may_need_solving(game: str, config: Mapping[str, Any]) -> bool:
    """Return whether grading a match may require a table that has not been solved yet."""
    may_need: Callable[[Mapping[str, Any]], bool] | None = game_part(game, "solving_check")
    return may_need is not None and may_need(config)


def store_new_tables_in(folder: Path, max_bytes: int) -> None:
    """Store in `folder` every table that this process solves on demand after this call. The tables of each game may
    take up to `max_bytes` bytes.
    """
    for game in games_with("table_store"):
        game_part(game, "table_store")(folder, max_bytes)
