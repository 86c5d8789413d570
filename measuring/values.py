"""By what luck can be measured in a game: the values that there are, found by the game's name and their own."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, NamedTuple

from measuring.value import Nothing, Value
from protocol.errors import UsageFault
from protocol.games.base import Game
from protocol.shown import shown


class _Registered(NamedTuple):
    """Where the values of a game are, by name, and who says which there are under a config, the best first."""

    names: str
    where: Mapping[str, str]


_GAMES = {
    "risk-duel": _Registered(
        "measuring.risk:of_duel", {"exact": "measuring.risk:exact", "features-1": "measuring.risk:features"}
    ),
    "risk-campaign": _Registered("measuring.risk:of_campaign", {"features-1": "measuring.risk:features"}),
}


def names_of(game: Game[Any, Any]) -> tuple[str, ...]:
    """The values for this game and config, the best first, `none` the last everywhere. Nothing is solved to know it."""
    registered = _GAMES.get(game.name)
    return (*(resolve_name(registered.names)(game) if registered else ()), Nothing.name)


def value_of(game: Game[Any, Any], name: str | None = None) -> Value:
    """The value called `name`, or the best there is. An exact table may have to be solved first: seconds, once.

    Raises `UsageFault`, naming those that there are.
    """
    names = names_of(game)
    if name is None:
        name = names[0]
    if name not in names:
        has = f"it has {', '.join(names)}" if len(names) > 1 else "there is no chance in it, so none"
        raise UsageFault(f"{game.name} under this config has no value {shown(name)}: {has}")
    if name == Nothing.name:
        return Nothing(game.seats)
    value: Value = resolve_name(_GAMES[game.name].where[name])(game)
    return value
