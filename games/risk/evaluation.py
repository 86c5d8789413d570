"""Evaluations of a Risk position, written to be read; games/risk/search has faster ones on flat arrays.

- `features`, for both Risk games, is a mean of four features of the position.
- `unam`, for bounded Risk, is from the paper that proposed this game.
- `outlook`, for campaigns, is a seat's fraction of the sum of all seats' strengths. A strength is the product of powers
  of the seat's units and its land.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bots.evaluation.base import EQUAL_WEIGHTS
from games.risk.measuring.features import measure_features
from games.risk.rules.board import Board
from games.risk.rules.campaign import MIN_CLASSIC_DRAFT, Campaign, Position
from games.risk.rules.duel import NO_OWNER
from machine.sums import sum_in_order
from protocol.games.base import Game

FEATURES_BOUND = 0.999
"""The bound on `features` and `outlook`: they return numbers from minus this bound to this bound."""


def features(rules: Game[Any, Any], state: Any, seat: int, weights: Sequence[float] = EQUAL_WEIGHTS) -> float:
    """Return the weighted mean of the four features from `measure_features`, mapped from 0 … 1 to −1 … 1."""
    pairs = zip(weights, measure_features(rules, state, seat), strict=True)
    mean = sum_in_order(weight * feature for weight, feature in pairs)
    return FEATURES_BOUND * (2 * mean / (sum_in_order(weights) or 1.0) - 1)


def unam(rules: Game[Any, Any], state: Any, seat: int) -> float:
    """Return a seat's evaluation by the paper that proposed bounded Risk: `unam_score`, divided by its bound on this
    map, so that it lies between −1 and 1.
    """
    return unam_score(rules, state, seat) / unam_bound(rules.map, rules.max_troops)  # type: ignore[attr-defined]


def unam_score(rules: Game[Any, Any], state: Any, seat: int) -> int:
    """Return the value of a state by the function invadeReforzaAtaca, with `seat` as its player MAX (Prieto, Galicia
    and Galván, "Implementación de Risk con algoritmo de Minimax", 2014). It is not zero-sum: the seats' scores need not
    add up to 0.
    """
    owner, troops = state.owner, state.troops
    points = 0
    for v, u in breadth_first_pairs(rules.map):  # type: ignore[attr-defined]
        degree = len(rules.map.neighbours[u])  # type: ignore[attr-defined]
        if owner[u] == NO_OWNER and points < degree:
            points += degree
        if owner[u] == seat:
            points += troops[u] + 1
        elif owner[u] != NO_OWNER:
            points -= troops[u] + 1
            if owner[v] == seat:
                points -= 2
        points += (troops[v] > troops[u]) - (troops[v] < troops[u])
    return points


def breadth_first_pairs(board: Board) -> list[tuple[int, int]]:
    """Return the steps of a breadth-first walk over the map from territory 0: pairs (v, u), in which the walk reaches u
    from v. `unam_score` compares the two territories of each pair (Prieto et al. 2014).

    Territory 0 is not marked at the start, so it is a u, too, when the walk comes back to it.
    """
    pairs, queue, marked = [], [0], set[int]()
    for v in queue:
        for u in board.neighbours[v]:
            if u not in marked:
                marked.add(u)
                pairs.append((v, u))
                queue.append(u)
    return pairs


def unam_bound(board: Board, max_troops: int) -> int:
    """Return an upper bound on the absolute value of `unam_score` on this map."""
    return 1 + sum(max(max_troops + 4, len(others) + 1) for others in board.neighbours)


class OutlookWeights(NamedTuple):
    """The weights of `outlook`, each from 0 to 10. They have different units, such as tenths, so that all defaults lie
    well within this range.
    """

    idle: float = 4.0
    """The worth of a unit on a territory without enemy neighbours, in tenths of a unit."""
    danger: float = 3.0
    """The penalty, in tenths of a unit, for each unit by which the strongest neighbouring enemy exceeds the units of a
    territory. At most as many units are penalized as the territory has.
    """
    army: float = 5.0
    """The weight of units. One factor of a seat's strength is its number of units to the power of `army` / 5."""
    income: float = 1.0
    """The weight of each unit of a seat's next draft in its land value. A territory has weight 1."""
    progress: float = 2.0
    """The land value that a seat has for each unit of a continent's bonus. It is multiplied by the square of the
    fraction of the continent that the seat holds.
    """
    land: float = 6.5
    """The weight of land. One factor of a seat's strength is its land value to the power of 2 * `land`. The weight is
    high, because little land changes hands between bots that attack whenever they can.
    """


DEFAULT_OUTLOOK_WEIGHTS = OutlookWeights()
"""The weights of `outlook` unless others are given."""
TEMPO_FACTOR = 3.0
"""The factor by which `outlook` multiplies the strength of the seat to move."""


def outlook(rules: Game[Any, Any], state: Any, seat: int, weights: Sequence[float] = DEFAULT_OUTLOOK_WEIGHTS) -> float:
    """Return a seat's fraction of the sum of all seats' strengths in a campaign, mapped from 0 … 1 to −1 … 1."""
    assert isinstance(rules, Campaign)
    named = OutlookWeights(*weights)
    shares = [strength(rules, state, each, named) for each in range(rules.seats)]
    return FEATURES_BOUND * (2 * shares[seat] / sum_in_order(shares) - 1)


def strength(rules: Campaign, state: Position, seat: int, outlook_weights: OutlookWeights) -> float:
    """Return the seat's strength for `outlook`: 0 if the seat is eliminated, else positive."""
    if seat in state.out:
        return 0.0
    owner, troops = state.owner, state.troops
    units = 0.0
    for at in (at for at, held in enumerate(owner) if held == seat):
        enemies = [troops[other] for other in rules.map.neighbours[at] if owner[other] != seat]
        units += troops[at] * (1.0 if enemies else outlook_weights.idle / 10)
        units -= outlook_weights.danger / 10 * min(troops[at], max(0, max(enemies, default=0) - troops[at]))
    count = owner.count(seat)
    land, draft = float(count), count
    if rules.draft == "classic":
        draft = max(MIN_CLASSIC_DRAFT, count // 3)
        for continent, members in zip(rules.map.continents, rules.map.members, strict=True):
            held = sum(owner[at] == seat for at in members)
            draft += continent.bonus if held == len(members) else 0
            land += outlook_weights.progress * continent.bonus * (held / len(members)) ** 2
    found: float = max(0.1, units) ** (outlook_weights.army / 5) * (land + outlook_weights.income * draft) ** (
        2 * outlook_weights.land
    )
    return TEMPO_FACTOR * found if state.seat == seat else found
