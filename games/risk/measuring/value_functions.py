"""The value functions of both Risk games: exact tables, fitted coefficients and plain features.

The luck of seat 0 in an event is the sum over features k of c_k · (φ_k(after) − Σ p φ_k(outcome)). Here φ_k is seat 0's
feature minus seat 1's in a position, and p the probability of an outcome. The factor c_k is always_k + open_k · 4q(1 −
q), with coefficients always_k and open_k. The win probability q of seat 0 is a logistic function of features, turn and
attacks left.

Coefficients are fitted once for a map and shipped, so they are fixed before any match, and each c_k is known before the
throw. So luck is unbiased for all coefficients.
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

from games.risk.exact.table import cached_table, can_grade
from games.risk.measuring.features import FEATURE_NAMES, Features, PositionSums, measure_features
from games.risk.measuring.share_value import SHARE_NAMES, ShareValue
from games.risk.rules import maps
from games.risk.rules.campaign import Campaign
from games.risk.rules.duel import Duel, Position
from measuring.value_function import LazyValue, Outcomes, PositionValue, SeatValues, ValueFactories, ValueFunction
from protocol.games.base import Game

EXACT_NAME, PLAIN_FEATURES_NAME = "exact", "features-1"
"""`EXACT_NAME` is the name of the value function made from the exact table, `PLAIN_FEATURES_NAME` that of the one made
from plain features.
"""
MAX_QUICK_POSITIONS = 1_000_000
"""Maximum number of positions of a table that counts as quick: a table with this many is solved in some 20 s."""
_MAX_DRAWN_PLY_RATIO = 1 / 3
"""The ratio below which many matches are drawn by the ply limit. It is the ply limit, divided by the troop limit and by
the squared number of territories. Measurements show that below it plain features remove more luck than coefficients
that were fitted to another map.
"""
_GENERAL_MAP_BY_GAME = {"risk-duel": "africa"}
"""The map of each game whose fitted coefficients are also used on all other maps. The value function with these
coefficients is called `general-1`, while `fitted-1` has coefficients fitted to the map of the match.

Campaigns have no such map. Battles matter more on small maps, so general coefficients would make adjusted results vary
more than raw results.
"""


class Constants(Struct, frozen=True, forbid_unknown_fields=True):
    """The constants of one feature. `always` and `open` are its always_k and open_k in the formula at the top of this
    module. `odds` is its weight in the logit of seat 0's win probability q.
    """

    always: float
    open: float = 0.0
    odds: float = 0.0


class Coefficients(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a file of coefficients.

    - `name`: the name of the value function, with a version.
    - `features`: the constants of each feature. With more than two seats, the features are `SHARE_NAMES`, and only the
      constants `always` and `open` are used.
    - `turn`: a number added to the logit of the seat to move.
    - `attacks`: a number added for each attack that this seat has left.
    - `provenance`: how the coefficients were made.
    """

    name: str
    features: dict[str, Constants]
    turn: float = 0.0
    attacks: float = 0.0
    provenance: dict[str, Any] = {}


def win_logit(features: Features, odds: Sequence[float], turn: float, attacks: float, state: Any) -> float:
    """Return the logit of the probability that seat 0 wins, clipped to a range in which exp does not overflow."""
    mover = turn + attacks * getattr(state, "attacks_left", 0)
    told = sum(map(mul, odds, features)) + (mover if state.seat == 0 else -mover)
    return float(max(-50.0, min(50.0, told)))


def game_openness(logit: float) -> float:
    """Return how open a game is, from the logit of the win probability q: 4q(1 − q), which is 1 in an even game."""
    return 1 / math.cosh(logit / 2) ** 2


class FittedValue(ValueFunction):
    """A value function for games of two seats, computed from coefficients."""

    def __init__(self, game: Game[Any, Any], coefficients: Coefficients) -> None:
        self.name = coefficients.name
        self._game = game
        constants = [coefficients.features.get(feature, Constants(0.0)) for feature in FEATURE_NAMES]
        self._always = [each.always for each in constants]
        self._open = [each.open for each in constants]
        self._odds = [each.odds for each in constants]
        self._mover = coefficients.turn, coefficients.attacks

    def luck(self, before: Any, outcomes: Outcomes, after: Any) -> tuple[float, ...]:
        survey = PositionSums(self._game, before)
        weights = self._always
        if any(self._open):
            share = game_openness(win_logit(survey.seat_difference(), self._odds, *self._mover, before))
            weights = [always + share * more for always, more in zip(weights, self._open, strict=True)]
        gave = 0.0
        for chance, state in outcomes:
            points = sum(map(mul, weights, survey.seat_difference_after(state.owner, state.troops)))
            gave += ((state == after) - float(chance)) * points
        return gave, -gave


_PLAIN_COEFFICIENTS = Coefficients(
    name=PLAIN_FEATURES_NAME,
    features=dict.fromkeys(("territories", "units", "strength", "compactness"), Constants(always=1 / 8)),
)
"""The coefficients of plain features. A seat's value is ½ plus ⅛ of the sum, over four features, of the seat's feature
minus the opponent's. So at the end the winner has value 1 and the loser 0.
"""


def duel_values(game: Duel) -> ValueFactories:
    """Return the value functions of bounded Risk, the best first. A table that takes minutes to solve comes last."""
    by_hand: ValueFactories = {PLAIN_FEATURES_NAME: plain_features_value}
    others = {**by_hand, **_fitted_values(game)} if _is_often_drawn(game) else {**_fitted_values(game), **by_hand}
    if not can_grade(game):
        return others
    if (2 * game.max_troops + 1) ** len(game.map) <= MAX_QUICK_POSITIONS:
        return {EXACT_NAME: exact_value, **others}
    return {**others, EXACT_NAME: LazyValue(exact_value)}


def _is_often_drawn(game: Duel) -> bool:
    """Return whether the ply limit ends many matches in a draw, on a map without coefficients of its own. Coefficients
    fitted to another map are then misleading: they make a throw count most while a match is open, but in a match that
    will be drawn no throw counts for much.
    """
    return (
        _map_coefficients(game) is None and game.max_plies < _MAX_DRAWN_PLY_RATIO * len(game.map) ** 2 * game.max_troops
    )


def campaign_values(game: Campaign) -> ValueFactories:
    """Return the value functions of this campaign, the best first. A campaign without dice has none."""
    return {**_fitted_values(game), PLAIN_FEATURES_NAME: plain_features_value} if game.battle == "dice" else {}


def _fitted_values(game: Duel | Campaign) -> ValueFactories:
    """Return the value functions with coefficients fitted to this map and number of seats, if there are any. For two
    seats, add those with the general coefficients.
    """
    if game.seats > 2:
        return _share_values(game)
    shipped = (_map_coefficients(game), _general_coefficients(game.name))
    return {found.name: partial(FittedValue, coefficients=found) for found in shipped if found is not None}


def _share_values(game: Duel | Campaign) -> ValueFactories:
    """Return the value function of a game with more than two seats, which is computed from shares; an empty dict if its
    constants were not fitted to the map.
    """
    found = _map_coefficients(game, f"-{game.seats}")
    if found is None:
        return {}
    constants = [found.features[share] for share in SHARE_NAMES]
    pairs = [(each.always, each.open) for each in constants]
    return {found.name: lambda game: ShareValue(found.name, game, pairs)}


def exact_value(game: Duel) -> ValueFunction:
    """Return the value function from the table of exact play, which ignores the ply limit."""
    table = cached_table(game.map, game.max_troops, game.armies)

    def values_by_seat(position: Position) -> SeatValues:
        mover = (1 + table.value(position)) / 2
        return (mover, 1 - mover) if position.seat == 0 else (1 - mover, mover)

    return PositionValue(EXACT_NAME, values_by_seat)


def plain_features_value(game: Duel | Campaign) -> ValueFunction:
    """Return the value function of plain features: half a point, plus the seat's mean feature from `measure_features`
    minus the average of all seats' mean features.
    """
    return (
        FittedValue(game, _PLAIN_COEFFICIENTS)
        if game.seats == 2
        else PositionValue(PLAIN_FEATURES_NAME, lambda state: _mean_features(game, state))
    )


def _mean_features(game: Game[Any, Any], state: Any) -> SeatValues:
    have = [sum(measure_features(game, state, seat)) / 4 for seat in range(game.seats)]
    average = sum(have) / game.seats
    return tuple(0.5 + own - average for own in have)


def _map_coefficients(game: Duel | Campaign, seats: str = "") -> Coefficients | None:
    """Return the coefficients fitted to the map; None if there are none. `seats` is the end of the file's name: `-3`
    for three seats, "" for two.

    The troop limit or the draft may differ from those of the fit. Luck is then still unbiased, but a little less of it
    is removed.
    """
    name = game.map.name
    known = name in maps.MAP_NAMES and game.map == maps.load_map(name)
    return read_coefficients(game.name, name + seats) if known else None


def _general_coefficients(game: str) -> Coefficients | None:
    """Return a game's general coefficients, which are those of its map in `_GENERAL_MAP_BY_GAME`; None if it has no
    such map.
    """
    found = read_coefficients(game, _GENERAL_MAP_BY_GAME[game]) if game in _GENERAL_MAP_BY_GAME else None
    return None if found is None else replace(found, name=found.name.replace("fitted", "general"))


@cache
def read_coefficients(game: str, map_name: str) -> Coefficients | None:
    """Return the coefficients shipped for a map; None if there are none."""
    file = resources.files(__package__).joinpath("coefficients", game, f"{map_name}.toml")
    return msgspec.convert(tomllib.loads(file.read_text("utf-8")), Coefficients) if file.is_file() else None
