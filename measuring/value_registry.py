"""The registry of value functions, by game and name."""

from __future__ import annotations

from typing import Any

from measuring.value_function import LazyValue, NoLuck, ValueFactories, ValueFunction
from protocol.display import short_repr
from protocol.errors import UsageFault
from protocol.games import game_part
from protocol.games.base import Game


def value_names(game: Game[Any, Any]) -> tuple[str, ...]:
    """Return the names of the value functions for a game with a config, the best first, `none` last. Solve no table."""
    return tuple(_factories_of(game))


def default_value_names(game: Game[Any, Any]) -> tuple[str, ...]:
    """Return the names of the value functions that adjust results by default. These are all value functions for a game
    of two seats whose result is in points, and only `none` for other games.

    Values in payoff units cannot adjust points. With more than two seats, adjustment hardly reduces the number of games
    that are needed.
    """
    return (NoLuck.name,) if game.payoff_unit or game.seats > 2 else value_names(game)


def quick_value_names(game: Game[Any, Any]) -> tuple[str, ...]:
    """Return the names of the default value functions, except `none` and those that take minutes to make."""
    made = _factories_of(game)
    quick = (name for name in default_value_names(game) if not isinstance(made[name], LazyValue))
    return tuple(name for name in quick if name != NoLuck.name)


def load_value(game: Game[Any, Any], name: str | None = None) -> ValueFunction:
    """Return the value function called `name`. If no name is given, return the best one. An exact table may first be
    solved, which takes seconds.

    Raise `UsageFault`, which lists the available names, if no value function has this name.
    """
    makers = _factories_of(game)
    if name is None:
        name = next(iter(makers))
    if name not in makers:
        has = f"it has {', '.join(makers)}" if len(makers) > 1 else "it has no chance, so no luck"
        raise UsageFault(f"{game.name} under this config has no value function {short_repr(name)}: {has}")
    return makers[name](game)


def _factories_of(game: Game[Any, Any]) -> ValueFactories:
    make = game_part(game.name, "value_functions")
    found: ValueFactories = {} if make is None else make(game)
    return {**found, NoLuck.name: lambda game: NoLuck(game.seats)}
