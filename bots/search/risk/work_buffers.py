"""What the kernels' searches have in common: the array that they count and keep lines in, and how they are stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bots.search.base import Found, Limit, LimitReached, M
from machine.compiled import FAST, compiled

NODES, LEAVES, ESTIMATES, DEEPEST, BUDGET, STOP, LINES, LINE = range(8)
"""work[BUDGET]: the nodes it may visit; [STOP]: 1 to make it come to an end; [LINES]: where the lines begin, each LINE
long: a count, then moves. The slots from OWN on are the game's own."""
OWN = 8
AT_ONCE = 500 if FAST else 10
"""The nodes of about a millisecond."""
UNBOUNDED = 2**62
EXACT, LOWER, UPPER = 0, 1, 2
"""What a remembered value is: the value, or a bound on it."""


def random_numbers(count: int) -> list[int]:
    """The same signed 64-bit numbers everywhere, for search keys: splitmix64 (Steele, Lea, Flood 2014)."""
    numbers, at = [], 0
    for _ in range(count):
        at = (at + 0x9E3779B97F4A7C15) % 2**64
        mixed = at
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
        mixed ^= mixed >> 31
        numbers.append(mixed - 2**64 if mixed >= 2**63 else mixed)
    return numbers


def begin(work: Any, budget: int | None) -> None:
    """Count from 0, up to `budget` nodes; None: without end."""
    work[NODES] = work[LEAVES] = work[ESTIMATES] = work[DEEPEST] = 0
    work[BUDGET] = UNBOUNDED if budget is None else budget


def charge(work: Any, limit: Limit) -> None:
    """Account for the nodes visited. Raises `LimitReached` if the search had to."""
    limit.charge(int(work[NODES]))
    if work[STOP]:
        raise LimitReached


def best_line(work: Any) -> list[int]:
    """The principal variation."""
    first = int(work[LINES]) + 1
    return [int(move) for move in work[first : first + int(work[first - 1])]]


def found(work: Any, value: float, line: tuple[M, ...], depth: int) -> Found[M]:
    """The result of a search that was finished."""
    return Found(
        value=float(value),
        move=line[0],
        line=line,
        nodes=int(work[NODES]),
        leaves=int(work[LEAVES]),
        deepest=int(work[DEEPEST]),
        depth=depth,
        complete=not work[ESTIMATES],
    )


@contextmanager
def stopping(work: Any, deadline: float | None) -> Iterator[None]:
    """Tell the search to stop at `deadline`: compiled code cannot look at the clock."""
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
def keep_line(work: Any, ply: int, move: int, whole: int) -> None:
    """The line from this ply on is `move` and, if it is `whole`, the line from the next."""
    width = work[LINE]
    here = work[LINES] + ply * width
    work[here + 1] = move
    count = work[here + width] if whole else 0
    for i in range(count):
        work[here + 2 + i] = work[here + width + 1 + i]
    work[here] = count + 1


@compiled
def note_end(work: Any, ply: int) -> None:
    """Count a finished position, `ply` plies below the root; no line goes on from it."""
    work[NODES] += 1
    work[LEAVES] += 1
    work[DEEPEST] = max(work[DEEPEST], ply)
    work[work[LINES] + ply * work[LINE]] = 0
