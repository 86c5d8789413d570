"""The values of both games of Risk: exact tables, fitted coefficients, features as they are.

Coefficients were fitted once for a map, before the games, and shipped. By them the luck of an event is the sum over
features k of c_k · (φ_k(after) − Σ p φ_k(outcome)), φ being what seat 0 has above seat 1, and
c_k = always_k + open_k · 4q(1 − q) known before the dice fell: q is how likely seat 0 was to win, by a logistic
function of the features, the turn and the attacks left. So it is without bias whatever the constants are.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from functools import cache, partial
from importlib import resources
from operator import mul
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from machine.exact.duel import can_judge, table_of
from measuring.risk.features import NAMES, Features, PositionSums, measure
from measuring.risk.share_value import SHARES, ShareValue
from measuring.value_function import (
    Outcomes,
    PositionValue,
    SeatValues,
    SlowToMake,
    ValueFactories,
    ValueFunction,
)
from protocol.games.base import Game
from protocol.games.risk import maps
from protocol.games.risk.campaign import Campaign
from protocol.games.risk.duel import Duel, Position

EXACT, FEATURES = "exact", "features-1"
QUICK = 1_000_000
"""Positions of a table that is solved in some 20 s."""
_DRAWN_UNTIL = 1 / 3
"""Plies by territories squared and troops: below, features as they are leave less luck in; found by measuring."""
_GENERAL = {"risk-duel": "africa"}
"""By game, the map whose coefficients do for any: as `general-1` where they are `fitted-1` at home.

A campaign has none: a battle moves so much more on a small map that results would vary more than with luck left in.
"""


class Constants(Struct, frozen=True, forbid_unknown_fields=True):
    """Those of one feature: its points always, its points in an open game, what it adds to the logit of a win."""

    always: float
    open: float = 0.0
    odds: float = 0.0


class Coefficients(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of coefficients: `turn` and `attacks`, those left, add to the logit of the seat to move. Where more than
    two play, there are those of `SHARES` and no odds.

    `name`, with a version, is that of the value; `provenance` says how they were made.
    """

    name: str
    features: dict[str, Constants]
    turn: float = 0.0
    attacks: float = 0.0
    provenance: dict[str, Any] = {}


def logit(seat_difference: Features, odds: Sequence[float], turn: float, attacks: float, state: Any) -> float:
    """Of seat 0's win; it is kept where exp is small enough for a float."""
    mover = turn + attacks * getattr(state, "attacks_left", 0)
    told = sum(map(mul, odds, seat_difference)) + (mover if state.seat == 0 else -mover)
    return float(max(-50.0, min(50.0, told)))


def game_openness(logit: float) -> float:
    """4q(1 − q) for the probability q of this logit: 1 in an even game, near 0 in one that is decided."""
    return 1 / math.cosh(logit / 2) ** 2


class FittedValue(ValueFunction):
    """By coefficients, in a game of two seats."""

    def __init__(self, game: Game[Any, Any], coefficients: Coefficients) -> None:
        self.name = coefficients.name
        self._game = game
        constants = [coefficients.features.get(feature, Constants(0.0)) for feature in NAMES]
        self._always = [each.always for each in constants]
        self._open = [each.open for each in constants]
        self._odds = [each.odds for each in constants]
        self._mover = coefficients.turn, coefficients.attacks

    def luck(self, before: Any, outcomes: Outcomes, after: Any) -> tuple[float, ...]:
        survey = PositionSums(self._game, before)
        weights = self._always
        if any(self._open):
            share = game_openness(logit(survey.seat_difference(), self._odds, *self._mover, before))
            weights = [always + share * more for always, more in zip(weights, self._open, strict=True)]
        gave = 0.0
        for chance, state in outcomes:
            points = sum(map(mul, weights, survey.seat_difference_after(state.owner, state.troops)))
            gave += ((state == after) - float(chance)) * points
        return gave, -gave


_AS_THEY_ARE = Coefficients(
    name=FEATURES,
    features=dict.fromkeys(("territories", "units", "strength", "compactness"), Constants(always=1 / 8)),
)
"""Half a point is divided among the four: they are 1 for the winner of a match and 0 for the loser."""


def of_duel(game: Duel) -> ValueFactories:
    """The values of this duel, the best first; a table that takes minutes to solve only where it is asked for."""
    by_hand: ValueFactories = {FEATURES: features}
    others = {**by_hand, **_fits(game)} if _often_drawn(game) else {**_fits(game), **by_hand}
    if not can_judge(game):
        return others
    if (2 * game.max_troops + 1) ** len(game.map) <= QUICK:
        return {EXACT: exact, **others}
    return {**others, EXACT: SlowToMake(exact)}


def _often_drawn(game: Duel) -> bool:
    """Whether the limit of plies ends so many matches that constants which were fitted elsewhere mislead: by them a
    throw is worth most in an open match, and to one that will be drawn it is worth little.
    """
    return _shipped(game) is None and game.max_plies < _DRAWN_UNTIL * len(game.map) ** 2 * game.max_troops


def of_campaign(game: Campaign) -> ValueFactories:
    """The values of this campaign, the best first: none without dice."""
    return {**_fits(game), FEATURES: features} if game.battle == "dice" else {}


def _fits(game: Duel | Campaign) -> ValueFactories:
    """Those by coefficients: the map's own for so many seats; of a match of two also those of another map."""
    if game.seats > 2:
        return _by_shares(game)
    shipped = (_shipped(game), _elsewhere(game.name))
    return {found.name: partial(FittedValue, coefficients=found) for found in shipped if found is not None}


def _by_shares(game: Duel | Campaign) -> ValueFactories:
    """That of a campaign of more than two on a map for which it was fitted."""
    found = _shipped(game, f"-{game.seats}")
    if found is None:
        return {}
    constants = [found.features[share] for share in SHARES]
    pairs = [(each.always, each.open) for each in constants]
    return {found.name: lambda game: ShareValue(found.name, game, pairs)}


def exact(game: Duel) -> ValueFunction:
    """By the table of exact play, which ignores the ply limit."""
    table = table_of(game.map, game.max_troops, game.armies)

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


def _shipped(game: Duel | Campaign, seats: str = "") -> Coefficients | None:
    """What was fitted to games on the map; under another cap or draft it is as unbiased, only not quite as sharp.
    `seats` is what the file's name ends in where more than two play.
    """
    name = game.map.name
    known = name in maps.NAMES and game.map == maps.load_map(name)
    return read_coefficients(game.name, name + seats) if known else None


def _elsewhere(game: str) -> Coefficients | None:
    """What was fitted on another map and does well on any."""
    found = read_coefficients(game, _GENERAL[game]) if game in _GENERAL else None
    return None if found is None else replace(found, name=found.name.replace("fitted", "general"))


@cache
def read_coefficients(game: str, map_: str) -> Coefficients | None:
    """The coefficients that are shipped for a map, if there are any."""
    file = resources.files(__package__).joinpath("coefficients", game, f"{map_}.toml")
    return msgspec.convert(tomllib.loads(file.read_text("utf-8")), Coefficients) if file.is_file() else None
