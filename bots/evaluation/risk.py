"""Opinions about a Risk position, to be read; bots/search/risk has the same on flat arrays.

`features` is for any Risk: four things worth having. `unam` is the evaluation of the paper that proposed bounded Risk.
`outlook` is what a campaign promises a seat, its share of all strength: units and land, each to a power.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bots.evaluation.base import EQUAL
from measuring.risk.features import measure
from protocol.games.base import Game
from protocol.games.risk.board import Board
from protocol.games.risk.campaign import LEAST_CLASSIC, Campaign, Position
from protocol.games.risk.duel import FREE

WITHIN = 0.999
"""`features` stays this far within −1 and 1."""


def features(rules: Game[Any, Any], state: Any, seat: int, weights: Sequence[float] = EQUAL) -> float:
    """The weighted mean of `measure`, which is between 0 and 1, stretched to −1 and 1."""
    mean = sum(weight * feature for weight, feature in zip(weights, measure(rules, state, seat), strict=True))
    return WITHIN * (2 * mean / (sum(weights) or 1.0) - 1)


def unam(rules: Game[Any, Any], state: Any, seat: int) -> float:
    """`score` as a share of what it can come to on this map. For bounded Risk."""
    return score(rules, state, seat) / unam_bound(rules.map, rules.max_troops)  # type: ignore[attr-defined]


def score(rules: Game[Any, Any], state: Any, seat: int) -> int:
    """The function invadeReforzaAtaca of Prieto, Galicia and Galván, "Implementación de Risk con algoritmo de Minimax",
    2014. MAX is `seat`. What is good for one seat is not as bad for the other.
    """
    owner, troops = state.owner, state.troops
    points = 0
    for v, u in walk(rules.map):  # type: ignore[attr-defined]
        degree = len(rules.map.neighbours[u])  # type: ignore[attr-defined]
        if owner[u] == FREE and points < degree:
            points += degree
        if owner[u] == seat:
            points += troops[u] + 1
        elif owner[u] != FREE:
            points -= troops[u] + 1
            if owner[v] == seat:
                points -= 2
        points += (troops[v] > troops[u]) - (troops[v] < troops[u])
    return points


def walk(map_: Board) -> list[tuple[int, int]]:
    """The pairs (v, u) in which a breadth-first walk from territory 0 scores u, seen from v (Prieto et al. 2014).

    Territory 0 is not marked at the start and so is scored too, when it is met again.
    """
    pairs, queue, marked = [], [0], set[int]()
    for v in queue:
        for u in map_.neighbours[v]:
            if u not in marked:
                marked.add(u)
                pairs.append((v, u))
                queue.append(u)
    return pairs


def unam_bound(map_: Board, max_troops: int) -> int:
    """Above every score that `unam` can give on this map."""
    return 1 + sum(max(max_troops + 4, len(others) + 1) for others in map_.neighbours)


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


USUAL_OUTLOOK = Outlook()
TEMPO = 3.0
"""How many times stronger it is who is to move."""


def outlook(rules: Game[Any, Any], state: Any, seat: int, weights: Sequence[float] = USUAL_OUTLOOK) -> float:
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
