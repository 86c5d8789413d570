"""What a campaign promises a seat, written to be read; bots/search/risk/judging.py reckons the same on flat arrays.

Strength is units, income, the way to continents, less what could be lost; the outlook is a seat's share of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bots.evaluation.risk import WITHIN
from protocol.games.base import Game
from protocol.games.risk.campaign import LEAST_CLASSIC, Campaign, Position


class Outlook(NamedTuple):
    """The weights, in units of which one beside an enemy is worth 1; those in tenths so that all go from 0 to 10."""

    idle: float = 4.0
    """Tenths of a unit, for a unit that has no enemy beside it."""
    territory: float = 1.0
    """A territory."""
    income: float = 4.0
    """A unit of the next draft."""
    progress: float = 2.0
    """A unit of the bonus of a continent, times the square of the share that is held of it; of one held whole too."""
    danger: float = 3.0
    """Tenths of a unit, lost for each by which the strongest enemy beside a territory is above it, up to all there."""
    power: float = 2.0
    """Shares are of the strength to this power."""


USUAL = Outlook()


def outlook(rules: Game[Any, Any], state: Any, seat: int, weights: Sequence[float] = USUAL) -> float:
    """The share of all strength that the seat has, stretched to −1 and 1."""
    assert isinstance(rules, Campaign)
    named = Outlook(*weights)
    shares: list[float] = [strength(rules, state, each, named) ** named.power for each in range(rules.seats)]
    return WITHIN * (2 * shares[seat] / sum(shares) - 1)


def strength(rules: Campaign, state: Position, seat: int, weights: Outlook) -> float:
    """In units; 0 for a seat that is out, else at least 0.1."""
    if seat in state.out:
        return 0.0
    owner, troops = state.owner, state.troops
    found = 0.0
    for at in (at for at, held in enumerate(owner) if held == seat):
        enemies = [troops[other] for other in rules.map.neighbours[at] if owner[other] != seat]
        found += weights.territory + troops[at] * (1.0 if enemies else weights.idle / 10)
        found -= weights.danger / 10 * min(troops[at], max(0, max(enemies, default=0) - troops[at]))
    count = owner.count(seat)
    units = count
    if rules.draft == "classic":
        units = max(LEAST_CLASSIC, count // 3)
        for continent, members in zip(rules.map.continents, rules.map.members, strict=True):
            held = sum(owner[at] == seat for at in members)
            units += continent.bonus if held == len(members) else 0
            found += weights.progress * continent.bonus * (held / len(members)) ** 2
    return max(0.1, found + weights.income * units)
