"""Evaluations of unfinished states, found by the names of the game and of the evaluation.

base.py has the scale, risk.py and small_games.py the evaluations.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import NamedTuple

from bots.evaluation.base import WIN_VALUE, Evaluate, ValueScale, evaluate_as_draw
from protocol.errors import UsageFault


class _GameEvaluations(NamedTuple):
    """The evaluations of a game, by name, and the scale of a search's values in the game."""

    paths: Mapping[str, str]
    """The import path of each evaluation, by its name. The first is the game's default."""
    scale: ValueScale = ValueScale()
    weights: Mapping[str, str] = {}
    """The import path of the default weights, by evaluation, for evaluations that have weights."""


_RISK_SCALE = ValueScale(evaluation_factor=0.9 * WIN_VALUE)
"""The scale of a search's values in both Risk games. A state that is evaluated as 1 counts as nine tenths of a win."""
_REGISTRY: Mapping[str, _GameEvaluations] = {
    "nim": _GameEvaluations({"parity": "bots.evaluation.small_games:nim_parity"}),
    "grundy": _GameEvaluations({"parity": "bots.evaluation.small_games:grundy_parity"}),
    "tictactoe": _GameEvaluations({"lines": "bots.evaluation.small_games:lines_share"}, ValueScale(win=10.0)),
    "risk-duel": _GameEvaluations(
        {"features": "bots.evaluation.risk:features", "unam": "bots.evaluation.risk:unam"},
        _RISK_SCALE,
        {"features": "bots.evaluation.base:EQUAL_WEIGHTS"},
    ),
    "risk-campaign": _GameEvaluations(
        {"outlook": "bots.evaluation.risk:outlook", "features": "bots.evaluation.risk:features"},
        _RISK_SCALE,
        {"outlook": "bots.evaluation.risk:DEFAULT_OUTLOOK_WEIGHTS", "features": "bots.evaluation.base:EQUAL_WEIGHTS"},
    ),
}
"""The evaluations of each game, by the game's name."""
_NO_EVALUATIONS = _GameEvaluations({})
"""The evaluations of a game that is not in `_REGISTRY`: none."""
EVALUATION_NAMES = tuple(dict.fromkeys([*(name for game in _REGISTRY.values() for name in game.paths), "none"]))
"""The names of all evaluations."""


def names_of(game: str) -> tuple[str, ...]:
    """Return the names of a game's evaluations, its default first."""
    return (*_REGISTRY.get(game, _NO_EVALUATIONS).paths, "none")


def scale_of(game: str) -> ValueScale:
    """Return the scale of the values that a search gives to the states of a game."""
    return _REGISTRY.get(game, _NO_EVALUATIONS).scale


def default_weights(game: str, name: str) -> tuple[float, ...]:
    """Return the default weights of an evaluation; an empty tuple if it has none."""
    where = _REGISTRY.get(game, _NO_EVALUATIONS).weights
    return tuple(resolve_name(where[name])) if name in where else ()


def load_evaluation(game: str, name: str | None = None) -> Evaluate:
    """Return the evaluation of `game` called `name`. None means the game's default; "none" counts every state as a
    draw.

    Raise `UsageFault` if the game has no evaluation with this name.
    """
    names = _REGISTRY.get(game, _NO_EVALUATIONS).paths
    if name is None:
        name = names_of(game)[0]
    if name == "none":
        return evaluate_as_draw
    if name not in names:
        raise UsageFault(f"{game} has no evaluation {name[:40]!r}: one of {', '.join(names_of(game))}")
    found: Evaluate = resolve_name(names[name])
    return found
