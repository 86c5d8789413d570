"""Tables of bounded Risk too large to be solved by the way: sweeps over a file of bounds, right whenever it ends."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from machine.atomic_write import locked
from machine.compiled import zeros
from machine.exact.duel_bounds import CROSSED, draw_closer
from machine.exact.duel_file import Spent, place_of, write_mapped
from machine.exact.duel_rows import both_ways, rows_of
from machine.exact.duel_shape import Shape
from protocol.errors import ArenaFault, UsageFault

CLOSE = 1e-7
"""How far apart the bounds of a chance to win are in the end, at most. A value half way is off by as much, at most."""
_AT_ONCE = 500
"""Rows that a thread takes: they lie in the order in which the sweep is quickest, so threads stay side by side."""
_SPENT = 3
"""Numbers before the chances: sweeps, seconds, seconds of processors."""


class Sweep(NamedTuple):
    """One that is done: `widest` is left between two bounds of a chance to win; the seconds are those of all so far,
    `cpu` of every processor.
    """

    number: int
    widest: float
    seconds: float
    cpu: float


def solve_mapped(shape: Shape, folder: Path, jobs: int, told: Callable[[Sweep], None]) -> Path:
    """Solve `shape` by `jobs` threads and leave its table in `folder`; where. `told` hears of each sweep.

    What is done is kept whenever the process ends, and gone on from. Raises `UsageFault` where another process is at
    it, `ArenaFault` where the folder can't hold it or what was done is damaged.
    """
    path = place_of(shape, folder)
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(path):
            _solve(shape, path, unfinished, jobs, told)
            unfinished.unlink()
    except BlockingIOError as exc:
        raise UsageFault(f"{path} is being solved by another process") from exc
    except OSError as exc:
        raise ArenaFault(f"{folder} can't hold the table: {exc.strerror or exc}") from exc
    return path


def _solve(shape: Shape, path: Path, unfinished: Path, jobs: int, told: Callable[[Sweep], None]) -> None:
    rows = rows_of(shape)
    count, length = len(shape.places), len(rows.heads)
    kept = opened(unfinished, _SPENT + length * (2 << count))
    chances, ends = kept[_SPENT:], both_ways(shape)
    before, began, cpu = kept[:_SPENT].copy(), time.perf_counter(), time.process_time()

    def draw(first: int) -> float:
        last = min(first + _AT_ONCE, length)
        return draw_closer(chances, first, last, shape.cap, ends, *rows, zeros(2 * count), zeros(2 << count, float))

    draw(length)  # compiles, before there are threads
    widest = 1.0
    with _pool(jobs) as pool:
        while widest > CLOSE:
            widest = max(pool.map(draw, range(0, length, _AT_ONCE)))
            if widest == CROSSED:
                raise ArenaFault(f"{unfinished} is damaged: remove it, and the same command begins anew")
            kept[0] += 1
            kept[1] = before[1] + time.perf_counter() - began
            kept[2] = before[2] + time.process_time() - cpu
            told(Sweep(int(kept[0]), widest, float(kept[1]), float(kept[2])))
    write_mapped(path, shape, Spent(int(kept[0]), widest, float(kept[1]), float(kept[2])), rows.heads, chances)


@contextlib.contextmanager
def _pool(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that end with what they are at when this is left."""
    pool = ThreadPoolExecutor(jobs)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def opened(path: Path, length: int) -> Any:
    """The file of bounds as 64-bit floats, all 0 where there was none of this length."""
    import numpy

    size = 8 * length
    if not path.exists() or path.stat().st_size != size:
        with path.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)  # a full disk is told now, and not by a signal later
            file.truncate(size)
    return numpy.memmap(path, numpy.float64, "r+", shape=(length,)).view(numpy.ndarray)
