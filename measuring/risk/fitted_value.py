"""Luck by features, each with constants that were fixed before the games: fitted once for a map, and shipped.

The luck of an event is the sum over features k of c_k · (φ_k(after) − Σ p φ_k(outcome)), φ being what seat 0 has above
seat 1, and c_k = always_k + open_k · 4q(1 − q) known before the dice fell: q is how likely seat 0 was to win, by a
logistic function of the features, the turn and the attacks left. So it is without bias whatever the constants are.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from importlib import resources
from operator import mul
from typing import Any

import msgspec
from msgspec import Struct

from measuring.risk.features import NAMES, Features, position_sums
from measuring.value_function import Outcomes, ValueFunction
from protocol.games.base import Game


class Constants(Struct, frozen=True, forbid_unknown_fields=True):
    """Those of one feature: its points always, its points in an open game, what it adds to the logit of a win."""

    always: float
    open: float = 0.0
    odds: float = 0.0


class Coefficients(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of coefficients: `turn` and `attacks`, those left, add to the logit of the seat to move.

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
        survey = position_sums(self._game, before)
        weights = self._always
        if any(self._open):
            share = game_openness(logit(survey.seat_difference(), self._odds, *self._mover, before))
            weights = [always + share * more for always, more in zip(weights, self._open, strict=True)]
        gave = 0.0
        for chance, state in outcomes:
            points = sum(map(mul, weights, survey.seat_difference_after(state.owner, state.troops)))
            gave += ((state == after) - float(chance)) * points
        return gave, -gave


def read(game: str, map_: str) -> Coefficients | None:
    """The coefficients that are shipped for a map, if there are any."""
    file = resources.files(__package__).joinpath("coefficients", game, f"{map_}.toml")
    return msgspec.convert(tomllib.loads(file.read_text("utf-8")), Coefficients) if file.is_file() else None
