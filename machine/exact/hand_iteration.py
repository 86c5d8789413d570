"""A round of CFR+ over a game tree in flat arrays, compiled by numba where that is there.

Nodes are in order of their depth, and those after a node follow each other.
"""

from __future__ import annotations

from typing import Any

from machine.compiled import compiled, entry
from protocol.messages import CHANCE


@compiled
def _reach(seat: int, tree: Any, now: Any, own: Any, others: Any) -> None:
    """How likely a seat's acts, and all else, lead to each node."""
    who, first, count, slot, chance, _ = tree
    own[0] = 1.0
    others[0] = 1.0
    for node in range(len(who)):
        for at in range(count[node]):
            after = first[node] + at
            own[after] = own[node]
            others[after] = others[node]
            if who[node] == seat:
                own[after] *= now[slot[node] + at]
            elif who[node] == CHANCE:
                others[after] *= chance[after]
            else:
                others[after] *= now[slot[node] + at]


@compiled
def _regret(
    seat: int, weight: float, tree: Any, now: Any, own: Any, others: Any, worth: Any, regret: Any, mean: Any
) -> None:
    """The worth of each node to a seat, what it regrets not to have done there, and its acts added to the mean."""
    who, first, count, slot, chance, value = tree
    for node in range(len(who) - 1, -1, -1):
        if count[node] == 0:
            worth[node] = value[node] if seat == 0 else -value[node]
            continue
        total = 0.0
        for at in range(count[node]):
            after = first[node] + at
            total += worth[after] * (chance[after] if who[node] == CHANCE else now[slot[node] + at])
        worth[node] = total
        if who[node] == seat:
            for at in range(count[node]):
                act = slot[node] + at
                regret[act] += others[node] * (worth[first[node] + at] - total)
                mean[act] += weight * own[node] * now[act]


@compiled
def _match(seat: int, sets: Any, now: Any, regret: Any) -> None:
    """Forget what is not regretted, and act in proportion to the rest."""
    seats, starts, counts = sets
    for each in range(len(seats)):
        if seats[each] != seat:
            continue
        total = 0.0
        for act in range(starts[each], starts[each] + counts[each]):
            regret[act] = max(regret[act], 0.0)
            total += regret[act]
        for act in range(starts[each], starts[each] + counts[each]):
            now[act] = regret[act] / total if total > 0.0 else 1.0 / counts[each]


@entry
def iterate(begin: int, end: int, tree: Any, sets: Any, now: Any, regret: Any, mean: Any, scratch: Any) -> None:
    """The rounds from `begin` to `end`, without it; those count in proportion to their numbers.

    `tree`: by node who acts, the first node after it and how many, which are none at the end, its first act, how likely
    chance leads to it, what it is worth to seat 0 at the end. `sets`: by what a seat may know the seat, the first act
    and how many. `now`, `regret` and `mean` are by act; `scratch` are three arrays by node.
    """
    own, others, worth = scratch
    for number in range(begin, end):
        for seat in range(2):
            _reach(seat, tree, now, own, others)
            _regret(seat, float(number), tree, now, own, others, worth, regret, mean)
            _match(seat, sets, now, regret)
