"""The values of both games of Risk: exact tables, fitted coefficients, features as they are."""

from __future__ import annotations

from functools import cache, lru_cache, partial
from typing import Any

from machine.exact.duel import can_judge, load_or_solve
from measuring.risk import fitted
from measuring.risk.features import measure
from measuring.risk.fitted import Coefficients, Constants, Fitted
from measuring.value import Makers, Value, Worth, Worths
from protocol.games.base import Game
from protocol.games.risk import maps
from protocol.games.risk.campaign import Campaign
from protocol.games.risk.duel import Duel, Position

FEATURES = "features-1"
_AS_THEY_ARE = Coefficients(
    name=FEATURES,
    features=dict.fromkeys(("territories", "units", "strength", "compactness"), Constants(always=1 / 8)),
)
"""Half a point is divided among the four: they are 1 for the winner of a match and 0 for the loser."""


def of_duel(game: Duel) -> Makers:
    """The values of this duel, the best first."""
    return {"exact": exact, **_common(game)} if can_judge(game) else _common(game)


def of_campaign(game: Campaign) -> Makers:
    """The values of this campaign, the best first: none without dice."""
    return _common(game) if game.battle == "dice" else {}


def _common(game: Duel | Campaign) -> Makers:
    found = _shipped(game)
    return (
        {FEATURES: features} if found is None else {found.name: partial(Fitted, coefficients=found), FEATURES: features}
    )


def exact(game: Duel) -> Value:
    """By the table of exact play, which ignores the ply limit."""
    table = _table(game.map, game.max_troops)

    def worths(position: Position) -> Worths:
        mover = (1 + table.value(position)) / 2
        return (mover, 1 - mover) if position.seat == 0 else (1 - mover, mover)

    return Worth("exact", worths)


def features(game: Duel | Campaign) -> Value:
    """By the mean of `measure`: half a point, and what a seat has above the average of all."""
    return Fitted(game, _AS_THEY_ARE) if game.seats == 2 else Worth(FEATURES, lambda state: _means(game, state))


def _means(game: Game[Any, Any], state: Any) -> Worths:
    have = [sum(measure(game, state, seat)) / 4 for seat in range(game.seats)]
    average = sum(have) / game.seats
    return tuple(0.5 + own - average for own in have)


def _shipped(game: Duel | Campaign) -> Coefficients | None:
    """What is shipped for the map; under another cap or draft it is as unbiased, only not quite as sharp."""
    name = game.map.name
    return _read(game.name, name) if game.seats == 2 and name in maps.NAMES and game.map == maps.named(name) else None


_read = cache(fitted.read)
_table = lru_cache(maxsize=4)(load_or_solve)
