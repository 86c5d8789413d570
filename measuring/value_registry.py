"""The registry of value functions, by game and name."""

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
"""The function that returns the values of a game under its config, by game."""


def names_of(game: Game[Any, Any]) -> tuple[str, ...]:
    """Return the names of the values for this game and config, the best first and `none` last, without solving any."""
    return tuple(_made_by(game))


def names_in_points(game: Game[Any, Any]) -> tuple[str, ...]:
    """Return the values that adjust results by default: those in points, and only for two seats.

    Values in payoff units do not adjust points, and with more seats the adjustment saves almost nothing.
    """
    return (NoLuck.name,) if game.payoff_unit or game.seats > 2 else names_of(game)


def quick_names_in_points(game: Game[Any, Any]) -> tuple[str, ...]:
    """Return the values in points that do not take minutes to make, without `none`."""
    made = _made_by(game)
    quick = (name for name in names_in_points(game) if not isinstance(made[name], SlowToMake))
    return tuple(name for name in quick if name != NoLuck.name)


def value_of(game: Game[Any, Any], name: str | None = None) -> ValueFunction:
    """Return the value called `name`, or the best one; an exact table may first be solved, in seconds.

    Raises `UsageFault` with the available names.
    """
    makers = _made_by(game)
    if name is None:
        name = next(iter(makers))
    if name not in makers:
        has = f"it has {', '.join(makers)}" if len(makers) > 1 else "there is no chance in it, so none"
        raise UsageFault(f"{game.name} under this config has no value {shown(name)}: {has}")
    return makers[name](game)


def _made_by(game: Game[Any, Any]) -> ValueFactories:
    found: ValueFactories = resolve_name(_WHERE[game.name])(game) if game.name in _WHERE else {}
    return {**found, NoLuck.name: lambda game: NoLuck(game.seats)}
