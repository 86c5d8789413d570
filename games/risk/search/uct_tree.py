"""The common parts of the Monte Carlo tree searches: a tree in flat arrays, and batches of simulations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from heapq import nlargest
from typing import Any

from bots.search.base import SearchLimit
from machine.compiled import HAS_NUMBA, compiled, zeros

DECISION, SIBLING, CHILD, VISITS, NODE_LENGTH = range(5)
"""These are offsets in a node of `tree`, which is NODE_LENGTH slots long; the root is the first node. totals[node //
NODE_LENGTH] is the sum of the values of a node's visits.

- DECISION: the number of the decision that leads to the node.
- SIBLING: the next child of its parent.
- CHILD: its own first child; 0 for none.
- VISITS: its number of visits.
"""
NEXT_NODE, TREE_END = 0, 1
"""work[NEXT_NODE] is where the next new node begins in `tree`. work[TREE_END] is where the space of `tree` ends."""
MAX_NODES = 2**18
"""The maximum number of nodes of a tree, the same on every machine, so that moves are the same. A full tree gets no new
nodes."""
MIN_SIMULATIONS = 10
"""The minimum number of simulations of the campaign's tree search. With fewer, it returns the move of the policy raider
(see policies.py), which needs no search.
"""
SIMULATIONS_PER_MS = 1
"""The number of simulations that take about a millisecond."""
FIRST_BATCH_SIZE = 100 if HAS_NUMBA else 1
"""The number of simulations in the first batch. The clock is read after each batch."""
BATCH_DURATION_S = 0.004
"""The maximum seconds that each batch of simulations after the first should take."""


def make_arrays() -> tuple[Any, Any]:
    """Return the arrays `tree` and `totals` for a tree."""
    return zeros(NODE_LENGTH * MAX_NODES), zeros(MAX_NODES, float)


def reset_tree(tree: Any, work: Any) -> None:
    """Reset the tree to an empty root."""
    tree[CHILD], tree[VISITS] = 0, 0
    work[NEXT_NODE], work[TREE_END] = NODE_LENGTH, NODE_LENGTH * MAX_NODES


@compiled
def find_or_add_child(tree: Any, totals: Any, work: Any, node: int, decision: int) -> int:
    """Return a node's child for a decision. Add it if it is missing. Return 0 if the tree has no space for it."""
    child = tree[node + CHILD]
    while child and tree[child + DECISION] != decision:
        child = tree[child + SIBLING]
    if not child and work[NEXT_NODE] < work[TREE_END]:
        child = work[NEXT_NODE]
        work[NEXT_NODE] += NODE_LENGTH
        tree[child + DECISION], tree[child + SIBLING] = decision, tree[node + CHILD]
        tree[child + CHILD], tree[child + VISITS] = 0, 0
        tree[node + CHILD] = child
        totals[child // NODE_LENGTH] = 0.0
    return child  # type: ignore[no-any-return]


def children(tree: Any, node: int) -> Iterator[int]:
    """Yield the children of a node, the newest first."""
    child = int(tree[node + CHILD])
    while child:
        yield child
        child = int(tree[child + SIBLING])


def most_visited_child(tree: Any, totals: Any, node: int) -> int:
    """Return the node's most visited child, among equals the one with the highest mean; 0 if the node has no child."""

    def rank(child: int) -> tuple[int, float]:
        visits = int(tree[child + VISITS])
        return visits, totals[child // NODE_LENGTH] / visits

    return max(children(tree, node), key=rank, default=0)


def visit_lead(tree: Any) -> int:
    """Return how many visits the root's most visited child has more than the second."""
    first, second = nlargest(2, [0, 0, *(int(tree[child + VISITS]) for child in children(tree, 0))])
    return first - second


def run_simulations(simulate: Callable[[int], object], tree: Any, limit: SearchLimit) -> None:
    """Run simulations until `limit` is spent: all in one call if `limit` counts nodes, in batches if it is a deadline.

    Before a deadline, simulations stop once no other move can become the most visited in the time left.
    """
    if limit.nodes_left is not None:
        sims = limit.nodes_left
        simulate(sims)
        limit.count_nodes(sims)
        return
    assert limit.deadline is not None
    portion, now = FIRST_BATCH_SIZE, time.monotonic()
    while now < limit.deadline:
        begin = now
        simulate(portion)
        limit.count_nodes(portion)
        now = time.monotonic()
        pace = portion / max(now - begin, 1e-6)
        if visit_lead(tree) > pace * (limit.deadline - now):
            break
        portion = max(1, min(4 * portion, int(pace * min(BATCH_DURATION_S, limit.deadline - now))))
