"""What a campaign promises a seat, written to be read; bots/search/risk/field_evaluation.py does so on flat arrays.

Strength is units and land, each to a power; the outlook is a seat's share of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bots.evaluation.risk import WITHIN
from protocol.games.base import Game
from protocol.games.risk.campaign import LEAST_CLASSIC, Campaign, Position


class Outlook(NamedTuple):
    """The weights, from 0 to 10, in units in which the usual ones are not at an end of that."""

    idle: float = 4.0
    """Tenths of a unit, for a unit that has no enemy beside it."""
    danger: float = 3.0
    """Tenths of a unit, lost for each by which the strongest enemy beside a territory is above it, up to all there."""
    army: float = 5.0
    """The power of the units, in fifths."""
    income: float = 1.0
    """What a unit of the next draft adds to the land, of which a territory is 1."""
    progress: float = 2.0
    """What a unit of the bonus of a continent adds, times the square of the share that is held; of one held whole too.
    """
    land: float = 6.5
    """Half of the power of the land. It is high: between bots that attack as often as they may, little land changes
    hands.
    """


USUAL = Outlook()
TEMPO = 3.0
"""How many times stronger it is who is to move."""


def outlook(rules: Game[Any, Any], state: Any, seat: int, weights: Sequence[float] = USUAL) -> float:
    """The share of all strength that the seat has, stretched to −1 and 1."""
    assert isinstance(rules, Campaign)
    named = Outlook(*weights)
    shares = [strength(rules, state, each, named) for each in range(rules.seats)]
    return WITHIN * (2 * shares[seat] / sum(shares) - 1)


def strength(rules: Campaign, state: Position, seat: int, weights: Outlook) -> float:
    """0 for a seat that is out, else more."""
    if seat in state.out:
        return 0.0
    owner, troops = state.owner, state.troops
    units = 0.0
    for at in (at for at, held in enumerate(owner) if held == seat):
        enemies = [troops[other] for other in rules.map.neighbours[at] if owner[other] != seat]
        units += troops[at] * (1.0 if enemies else weights.idle / 10)
        units -= weights.danger / 10 * min(troops[at], max(0, max(enemies, default=0) - troops[at]))
    count = owner.count(seat)
    land, draft = float(count), count
    if rules.draft == "classic":
        draft = max(LEAST_CLASSIC, count // 3)
        for continent, members in zip(rules.map.continents, rules.map.members, strict=True):
            held = sum(owner[at] == seat for at in members)
            draft += continent.bonus if held == len(members) else 0
            land += weights.progress * continent.bonus * (held / len(members)) ** 2
    found: float = max(0.1, units) ** (weights.army / 5) * (land + weights.income * draft) ** (2 * weights.land)
    return TEMPO * found if state.seat == seat else found
