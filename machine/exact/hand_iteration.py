"""Iterations of CFR+ over a game tree in flat arrays. Nodes are sorted by depth, with siblings side by side."""

from __future__ import annotations

from typing import Any

from machine.compiled import compiled, entry
from protocol.messages import CHANCE


@compiled
def _compute_reach(seat: int, tree: Any, now: Any, own: Any, others: Any) -> None:
    """Compute two factors of the probability of reaching each node: `own` by the seat's own acts, `others` by chance
    and the other seat's acts.
    """
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
def _update_regrets(
    seat: int, weight: float, tree: Any, now: Any, own: Any, others: Any, worth: Any, regret: Any, mean: Any
) -> None:
    """Compute the value of each node for a seat. Add the regrets of the seat's acts to `regret`, and the seat's current
    strategy to its mean strategy.
    """
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
def _match_regrets(seat: int, sets: Any, now: Any, regret: Any) -> None:
    """Set negative regrets to 0, and make the strategy proportional to the positive regrets (regret matching+)."""
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
def run_rounds(begin: int, end: int, tree: Any, sets: Any, current: Any, regret: Any, mean: Any, scratch: Any) -> None:
    """Run the iterations `begin` to `end` - 1 of CFR+. Each iteration is weighted by its number.

    - `tree` holds arrays by node: the seat to act, the first child, the number of children (0 at the end), the first
      act, the probability of the chance event that leads to the node, and the node's value for seat 0 at the end.
    - `sets` holds arrays by information set: its seat, first act and number of acts.
    - `current`, `regret` and `mean` are arrays by act.
    - `scratch` is three arrays by node.
    """
    own, others, worth = scratch
    for number in range(begin, end):
        for seat in range(2):
            _compute_reach(seat, tree, current, own, others)
            _update_regrets(seat, float(number), tree, current, own, others, worth, regret, mean)
            _match_regrets(seat, sets, current, regret)
