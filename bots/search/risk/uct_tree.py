"""What Monte Carlo tree searches share: a tree in flat arrays, and simulations in portions until time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from heapq import nlargest
from typing import Any

from bots.search.base import Limit
from machine.compiled import FAST, compiled, zeros

DECISION, SIBLING, CHILD, VISITS, NODE = range(5)
"""tree[node + DECISION]: what led there; [SIBLING]: the next child of the same parent, [CHILD]: its own first, 0 for
none; [VISITS]; a node is NODE long, and the root the first. totals[node // NODE]: what its visits brought."""
NEXT, END_OF_ROOM = 0, 1
"""work[NEXT]: where the next node goes, [END_OF_ROOM]: where there is no more room."""
NODES = 2**18
"""That a tree has room for: as many everywhere, for the same moves on every machine. Further simulations add none."""
LEAST = 10
"""With fewer simulations to spend nothing is searched."""
AT_ONCE = 1
"""For want of time nothing is searched."""
FIRST = 100 if FAST else 1
"""The simulations before the first look at the clock."""
PORTION = 0.004
"""Seconds of simulations between two looks at the clock."""


def room() -> tuple[Any, Any]:
    """Tree and totals."""
    return zeros(NODE * NODES), zeros(NODES, float)


def plant(tree: Any, work: Any) -> None:
    """Make the tree empty but for the root."""
    tree[CHILD], tree[VISITS] = 0, 0
    work[NEXT], work[END_OF_ROOM] = NODE, NODE * NODES


@compiled
def follow(tree: Any, totals: Any, work: Any, node: int, decision: int) -> int:
    """The child of a node by that decision, a new one where there is none and room for it; else 0."""
    child = tree[node + CHILD]
    while child and tree[child + DECISION] != decision:
        child = tree[child + SIBLING]
    if not child and work[NEXT] < work[END_OF_ROOM]:
        child = work[NEXT]
        work[NEXT] += NODE
        tree[child + DECISION], tree[child + SIBLING] = decision, tree[node + CHILD]
        tree[child + CHILD], tree[child + VISITS] = 0, 0
        tree[node + CHILD] = child
        totals[child // NODE] = 0.0
    return child  # type: ignore[no-any-return]


def children(tree: Any, node: int) -> Iterator[int]:
    """All of a node, the newest first."""
    child = int(tree[node + CHILD])
    while child:
        yield child
        child = int(tree[child + SIBLING])


def favourite(tree: Any, totals: Any, node: int) -> int:
    """The child most looked at, the better of equals; 0 where there is none."""

    def rank(child: int) -> tuple[int, float]:
        visits = int(tree[child + VISITS])
        return visits, totals[child // NODE] / visits

    return max(children(tree, node), key=rank, default=0)


def lead(tree: Any) -> int:
    """How many visits the root's favourite has more than any other child."""
    first, second = nlargest(2, [0, 0, *(int(tree[child + VISITS]) for child in children(tree, 0))])
    return first - second


def in_portions(simulate: Callable[[int], object], tree: Any, limit: Limit) -> None:
    """Have as many simulations made as `limit` allows: all at once, or in portions where there is a deadline, until
    the time left is too short for another move to become the favourite.
    """
    if limit.left is not None:
        sims = limit.left
        simulate(sims)
        limit.charge(sims)
        return
    assert limit.deadline is not None
    portion, now = FIRST, time.monotonic()
    while now < limit.deadline:
        begin = now
        simulate(portion)
        limit.charge(portion)
        now = time.monotonic()
        pace = portion / max(now - begin, 1e-6)
        if lead(tree) > pace * (limit.deadline - now):
            break
        portion = max(1, min(4 * portion, int(pace * min(PORTION, limit.deadline - now))))
