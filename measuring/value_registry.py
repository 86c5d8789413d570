"""By what luck can be measured in a game: the values that there are, found by the game's name and their own."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from measuring.value_function import NoLuck, SlowToMake, ValueFactories, ValueFunction
from protocol.display import shown
from protocol.errors import UsageFault
from protocol.games.base import Game

_WHERE = {
    "risk-duel": "measuring.risk.value_functions:of_duel",
    "risk-campaign": "measuring.risk.value_functions:of_campaign",
    "dilemma": "measuring.payoff_values:of_dilemma",
    "kuhn": "measuring.payoff_values:of_poker",
    "leduc": "measuring.payoff_values:of_poker",
}
"""By game, who says which values there are under a config and makes them."""


def names_of(game: Game[Any, Any]) -> tuple[str, ...]:
    """The values for this game and config, the best first, `none` the last everywhere. Nothing is solved to know it."""
    return tuple(_made_by(game))


def names_in_points(game: Game[Any, Any]) -> tuple[str, ...]:
    """Those by which luck is taken from results where nobody names one: in points, not in what a game pays, and of
    two seats, as with more it saves next to nothing.
    """
    return (NoLuck.name,) if game.payoff_unit or game.seats > 2 else names_of(game)


def quick_names_in_points(game: Game[Any, Any]) -> tuple[str, ...]:
    """Those in points that take no minutes to make, without `none`."""
    made = _made_by(game)
    quick = (name for name in names_in_points(game) if not isinstance(made[name], SlowToMake))
    return tuple(name for name in quick if name != NoLuck.name)


def value_of(game: Game[Any, Any], name: str | None = None) -> ValueFunction:
    """The value called `name`, or the best there is. An exact table may have to be solved first: seconds, once.

    Raises `UsageFault`, naming those that there are.
    """
    makers = _made_by(game)
    if name is None:
        name = next(iter(makers))
    if name not in makers:
        has = f"it has {', '.join(makers)}" if len(makers) > 1 else "there is no chance in it, so none"
        raise UsageFault(f"{game.name} under this config has no value {shown(name)}: {has}")
    return makers[name](game)


def _made_by(game: Game[Any, Any]) -> ValueFactories:
    """By name, the best first, what makes each value of a game."""
    found: ValueFactories = resolve_name(_WHERE[game.name])(game) if game.name in _WHERE else {}
    return {**found, NoLuck.name: lambda game: NoLuck(game.seats)}
