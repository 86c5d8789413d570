"""Common parts of the kernels' searches: the array `work`, with counts and principal variations, and the deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bots.search.base import LimitReached, M, SearchLimit, SearchResult
from machine.compiled import HAS_NUMBA, compiled

NODES, LEAVES, ESTIMATES, DEEPEST, NODE_LIMIT, STOP, LINES, LINE_LENGTH = range(8)
"""These are slots of `work`:

- NODES: the number of nodes visited.
- LEAVES: the number of leaves.
- ESTIMATES: the number of leaves that were evaluated.
- DEEPEST: the deepest ply.
- NODE_LIMIT: the limit of nodes.
- STOP: 1 makes the search end.
- LINES: where the principal variations begin, one a ply: each is its number of moves, then the moves.
- LINE_LENGTH: the number of slots of a principal variation.
"""
FIRST_GAME_SLOT = 8
"""The first index of `work` that belongs to a game's own search. The indices below it are those explained at NODES."""
NODES_PER_MS = 500 if HAS_NUMBA else 10
"""The number of nodes that a kernel visits in about a millisecond."""
NO_LIMIT = 2**62
"""The number in work[NODE_LIMIT] that means no limit of nodes."""
EXACT_BOUND, LOWER_BOUND, UPPER_BOUND = 0, 1, 2
"""These are the kinds of values in a transposition table: EXACT_BOUND for exact values, LOWER_BOUND for lower bounds,
UPPER_BOUND for upper bounds.
"""


def make_random_numbers(count: int) -> list[int]:
    """Return signed 64-bit numbers for search keys, the same on every machine, by splitmix64 (Steele et al. 2014)."""
    numbers, at = [], 0
    for _ in range(count):
        at = (at + 0x9E3779B97F4A7C15) % 2**64
        mixed = at
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
        mixed ^= mixed >> 31
        numbers.append(mixed - 2**64 if mixed >= 2**63 else mixed)
    return numbers


def reset_counts(work: Any, max_nodes: int | None) -> None:
    """Reset the counts of `work` and set its limit of nodes; None: no limit."""
    work[NODES] = work[LEAVES] = work[ESTIMATES] = work[DEEPEST] = 0
    work[NODE_LIMIT] = NO_LIMIT if max_nodes is None else max_nodes


def charge_limit(work: Any, limit: SearchLimit) -> None:
    """Charge the nodes that the search visited to `limit`. Raise `LimitReached` if the search was stopped."""
    limit.count_nodes(int(work[NODES]))
    if work[STOP]:
        raise LimitReached


def read_principal_variation(work: Any) -> list[int]:
    """Return the move numbers of the principal variation in `work`."""
    first = int(work[LINES]) + 1
    return [int(move) for move in work[first : first + int(work[first - 1])]]


def make_result(work: Any, value: float, line: tuple[M, ...], depth: int) -> SearchResult[M]:
    """Return the result of a completed search from the counts in `work`."""
    return SearchResult(
        value=float(value),
        move=line[0],
        line=line,
        nodes=int(work[NODES]),
        leaves=int(work[LEAVES]),
        max_ply=int(work[DEEPEST]),
        depth=depth,
        complete=not work[ESTIMATES],
    )


@contextmanager
def stop_at(work: Any, deadline: float | None) -> Iterator[None]:
    """Stop the search in this context at `deadline`. A timer does so, because compiled code cannot read the clock."""
    if deadline is None:
        yield
        return

    def stop() -> None:
        work[STOP] = 1

    timer = threading.Timer(min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX), stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@compiled
def store_line(work: Any, ply: int, move: int, whole: int) -> None:
    """Set the principal variation at this ply to `move`, followed by the one at the next ply if `whole` is set."""
    width = work[LINE_LENGTH]
    here = work[LINES] + ply * width
    work[here + 1] = move
    count = work[here + width] if whole else 0
    for i in range(count):
        work[here + 2 + i] = work[here + width + 1 + i]
    work[here] = count + 1


@compiled
def count_leaf(work: Any, ply: int) -> None:
    """Count a leaf `ply` plies below the root, and make its principal variation empty."""
    work[NODES] += 1
    work[LEAVES] += 1
    work[DEEPEST] = max(work[DEEPEST], ply)
    work[work[LINES] + ply * work[LINE_LENGTH]] = 0
