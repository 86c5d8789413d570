"""The values of both games of Risk: exact tables, fitted coefficients, features as they are."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from msgspec.structs import replace

from machine.exact.duel import can_judge, table_of
from measuring.risk import fitted_value
from measuring.risk.features import measure
from measuring.risk.fitted_value import Coefficients, Constants, FittedValue
from measuring.value_function import PositionValue, SeatValues, ValueFactories, ValueFunction
from protocol.games.base import Game
from protocol.games.risk import maps
from protocol.games.risk.campaign import Campaign
from protocol.games.risk.duel import Duel, Position

EXACT, FEATURES = "exact", "features-1"
QUICK = 1_000_000
"""Positions of a table that is solved in some 20 s."""
_GENERAL = {"risk-duel": "africa"}
"""By game, the map whose coefficients do for any: as `general-1` where they are `fitted-1` at home.

A campaign has none: a battle moves so much more on a small map that results would vary more than with luck left in.
"""
_AS_THEY_ARE = Coefficients(
    name=FEATURES,
    features=dict.fromkeys(("territories", "units", "strength", "compactness"), Constants(always=1 / 8)),
)
"""Half a point is divided among the four: they are 1 for the winner of a match and 0 for the loser."""


def of_duel(game: Duel) -> ValueFactories:
    """The values of this duel, the best first; a table that takes minutes to solve only where it is asked for."""
    solved: ValueFactories = {EXACT: exact} if can_judge(game) else {}
    if (2 * game.max_troops + 1) ** len(game.map) <= QUICK:
        return {**solved, **_fits(game), FEATURES: features}
    return {**_fits(game), FEATURES: features, **solved}


def of_campaign(game: Campaign) -> ValueFactories:
    """The values of this campaign, the best first: none without dice."""
    return {**_fits(game), FEATURES: features} if game.battle == "dice" else {}


def _fits(game: Duel | Campaign) -> ValueFactories:
    """Those by coefficients, of a match of two: the map's own, then those of another map."""
    if game.seats > 2:
        return {}
    shipped = (_shipped(game), _elsewhere(game.name))
    return {found.name: partial(FittedValue, coefficients=found) for found in shipped if found is not None}


def exact(game: Duel) -> ValueFunction:
    """By the table of exact play, which ignores the ply limit."""
    table = table_of(game.map, game.max_troops)

    def worths(position: Position) -> SeatValues:
        mover = (1 + table.value(position)) / 2
        return (mover, 1 - mover) if position.seat == 0 else (1 - mover, mover)

    return PositionValue(EXACT, worths)


def features(game: Duel | Campaign) -> ValueFunction:
    """By the mean of `measure`: half a point, and what a seat has above the average of all."""
    return (
        FittedValue(game, _AS_THEY_ARE)
        if game.seats == 2
        else PositionValue(FEATURES, lambda state: _means(game, state))
    )


def _means(game: Game[Any, Any], state: Any) -> SeatValues:
    have = [sum(measure(game, state, seat)) / 4 for seat in range(game.seats)]
    average = sum(have) / game.seats
    return tuple(0.5 + own - average for own in have)


def _shipped(game: Duel | Campaign) -> Coefficients | None:
    """What was fitted to games on the map; under another cap or draft it is as unbiased, only not quite as sharp."""
    name = game.map.name
    return _read(game.name, name) if name in maps.NAMES and game.map == maps.load_map(name) else None


def _elsewhere(game: str) -> Coefficients | None:
    """What was fitted on another map and does well on any."""
    found = _read(game, _GENERAL[game]) if game in _GENERAL else None
    return None if found is None else replace(found, name=found.name.replace("fitted", "general"))


_read = cache(fitted_value.read)
