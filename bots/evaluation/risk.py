"""Two opinions about a Risk position, to be read; bots/search/risk/flat_position.py keeps the same incrementally.

`features` is for any Risk: four things worth having. `unam` is the evaluation of the paper that proposed bounded Risk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bots.evaluation.base import EQUAL
from measuring.risk.features import measure
from protocol.games.base import Game
from protocol.games.risk.board import Board
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
