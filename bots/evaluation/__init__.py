"""Evaluations, which estimate how good an unfinished state is, by game and name. base.py has the scale of values."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name

from bots.evaluation.base import Evaluate, ValueScale, evaluate_as_draw
from protocol.errors import UsageFault
from protocol.games import game_names, game_spec, is_known_game
from protocol.games.spec import EvaluationSpec


def evaluation_names() -> tuple[str, ...]:
    """Return the names of all evaluations of all games."""
    return tuple(dict.fromkeys([*(name for game in game_names() for name in _specs_of(game)), "none"]))


def names_of(game: str) -> tuple[str, ...]:
    """Return the names of a game's evaluations, its default first."""
    return (*_specs_of(game), "none")


def scale_of(game: str) -> ValueScale:
    """Return the scale of the values that a search gives to the states of a game."""
    return ValueScale(**game_spec(game).value_scale) if is_known_game(game) else ValueScale()


def default_weights(game: str, name: str) -> tuple[float, ...]:
    """Return the default weights of an evaluation; an empty tuple if it has none."""
    spec = _specs_of(game).get(name)
    return () if spec is None or spec.weights is None else tuple(resolve_name(spec.weights))


def load_evaluation(game: str, name: str | None = None) -> Evaluate:
    """Return the evaluation of `game` called `name`. None means the game's default; "none" counts every state as a
    draw.

    Raise `UsageFault` if the game has no evaluation with this name.
    """
    specs = _specs_of(game)
    if name is None:
        name = names_of(game)[0]
    if name == "none":
        return evaluate_as_draw
    if name not in specs:
        raise UsageFault(f"{game} has no evaluation {name[:40]!r}: one of {', '.join(names_of(game))}")
    found: Evaluate = resolve_name(specs[name].function)
    return found


def _specs_of(game: str) -> Mapping[str, EvaluationSpec]:
    return game_spec(game).evaluations if is_known_game(game) else {}
