"""Solving large tables of bounded Risk: value iteration on a mapped file until the values converge, then proof of an
error bound.

Every game ends, so the true values are the only fixed point (S. D. Patek and D. P. Bertsekas, Stochastic shortest path
games, 1999). Sweeps converge to the true values in any order and from any start (D. P. Bertsekas, Distributed dynamic
programming, 1982), so an unfinished file can be continued.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy

from games.risk.exact.file import WIN_VALUE, SolvingStats, place_of, write_mapped
from games.risk.exact.rows import MOVE_SIZE, build_masks, build_rows
from games.risk.exact.shape import Shape
from games.risk.exact.sweeps import MARGINS_PER_UNIT, MAX_MARGIN, SCRATCH_ROWS, RowMoves, sweep, sweep_bounds
from machine.atomic_write import file_lock
from machine.compiled import ints, zeros
from protocol.errors import ArenaFault, UsageFault

MAX_FINAL_CHANGE = 1
"""The iteration ends after a sweep in which no value changed by more than this many units of a stored value. The limit
is not 0, because rounding keeps some values changing.
"""
_FIRST_MARGINS = (1 << 10, 1 << 12, 1 << 14)
"""Error margins from which the proof of an error bound starts, in the order in which they are tried. Their unit is that
of stored margins, in which the first is 6e-8 of a win. The larger ones allow for more rounding errors.
"""
_SWEEPS_PER_MARGIN = 25
"""Maximum number of sweeps in which the proof of an error bound must succeed from one of `_FIRST_MARGINS`. After them,
the proof starts again from the next one.
"""
_EXTRAPOLATION_INTERVAL_SWEEPS = 30
"""Number of sweeps between two extrapolations of the values."""
_MAX_STALLED_SWEEPS = 2 * _EXTRAPOLATION_INTERVAL_SWEEPS
"""The iteration stops after this many sweeps in a row in which the largest change of a value was not below its minimum
so far. This leaves time for another extrapolation, which can repair the effects of a bad one.
"""
_MAX_STORED_CHANGE = 30_000
"""The number to which the largest change of a value in a sweep is scaled, so that changes can be stored in 16 bits."""
_MIN_EXTRAPOLATED_CHANGE = 5
"""Values are only extrapolated if one of them changed by more than this many units in the last sweep. Rounding distorts
smaller changes too much.
"""
_ROWS_PER_TASK = 500
"""Number of rows in a task of a thread. Rows are in the order in which sweeps converge fastest. With small tasks,
threads stay close to each other in this order.
"""
_STATS_SIZE = 3
"""Number of 8-byte numbers before the values in a file of unfinished values: sweeps, seconds, processor seconds."""


class SolvingProgress(NamedTuple):
    """Progress of solving a table. `change` is the largest change of a value in the last sweep, where a win is 1. It is
    None during the proof of an error bound, which follows the iteration.
    """

    sweeps: int
    change: float | None
    seconds: float


def solve_mapped(shape: Shape, folder: Path, jobs: int, on_sweep: Callable[[SolvingProgress], None]) -> Path:
    """Solve `shape` with `jobs` threads, write its table to `folder` and return its path; `on_sweep` is called after
    each sweep.

    If the process ends early, the work done is kept and continued by the next call. Raise `UsageFault` if another
    process is solving the table, and `ArenaFault` if the folder cannot hold it.
    """
    path = place_of(shape, folder)
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file_lock(path):
            DuelSolver(shape, unfinished, jobs, on_sweep).run(path)
            unfinished.unlink()
    except BlockingIOError as exc:
        raise UsageFault(f"{path} is being solved by another process") from exc
    except OSError as exc:
        raise ArenaFault(f"{folder} can't hold the table: {exc.strerror or exc}") from exc
    return path


class DuelSolver:
    """A solver of one table. `values` has the values by row, and `margins` has a bound on the error of each value.
    Before the proof of these bounds, the array `margins` serves another purpose: it holds the change of each value in
    the last sweep that stored changes.
    """

    def __init__(self, shape: Shape, unfinished: Path, jobs: int, on_sweep: Callable[[SolvingProgress], None]) -> None:
        count = len(shape.places)
        self._shape, self._jobs, self._told = shape, jobs, on_sweep
        self._rows = build_rows(shape)
        self._boards, self.length = 1 << count, len(self._rows.heads)
        self._spent, self.values = open_values(unfinished, (self.length + SCRATCH_ROWS * jobs) * self._boards)
        self.margins = numpy.zeros(len(self.values), numpy.uint16)
        self._changes = self.margins.view(numpy.int16)
        ends = ints(itertools.chain(*((a, b, b, a) for a, b in shape.edges)))
        self._moves = RowMoves(shape.cap, ends, build_masks(shape), *self._rows)
        self._rooms: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        for job in range(jobs):
            spare = (self.length + SCRATCH_ROWS * job) * self._boards
            room = zeros(2 * count), zeros(MOVE_SIZE * (count + len(ends))), *zeros(2 << count, float).reshape(2, -1)
            self._rooms.put((spare, *room))

    def run(self, path: Path) -> None:
        """Solve the table to the end, and write it."""
        self.sweep_rows(0, 0)
        self.sweep_margins(0, 0)  # compiles both before there are threads
        self._began = time.perf_counter() - self._spent[1], time.process_time() - self._spent[2]
        self._pool = ThreadPoolExecutor(self._jobs)
        try:
            self._iterate()
            error = self._prove() / (MARGINS_PER_UNIT * WIN_VALUE)
        finally:
            self._pool.shutdown(cancel_futures=True)
        spent = SolvingStats(int(self._spent[0]), error, float(self._spent[1]), float(self._spent[2]))
        write_mapped(path, self._shape, spent, self._rows.heads, self.values[: self.length * self._boards])

    def _iterate(self) -> None:
        """Run sweeps until the values converge, with extrapolations in between.

        The remaining error soon shrinks by the same factor in every sweep. Two sweeps show the factor, and so the sum
        of all changes to come: factor / (1 - factor) times the last change.
        """
        change, unit, before_leap = 2 * WIN_VALUE, 1.0, _EXTRAPOLATION_INTERVAL_SWEEPS
        least, without = change, 0
        while change > MAX_FINAL_CHANGE and without < _MAX_STALLED_SWEEPS:
            before_leap -= 1
            if before_leap > 1:
                change = max(self._map_rows(self.sweep_rows))
            else:
                unit = change / _MAX_STORED_CHANGE if before_leap == 1 else unit
                found = list(self._map_rows(partial(self._sweep_and_store_changes, unit)))
                change = max(part[0] for part in found)
                factor = sum(part[1] for part in found) / max(sum(part[2] for part in found), 1.0)
                if before_leap == 0:
                    before_leap = _EXTRAPOLATION_INTERVAL_SWEEPS
                    if 0 < factor < 1 and change > _MIN_EXTRAPOLATED_CHANGE:
                        list(self._map_rows(partial(self._extrapolate, unit * factor / (1 - factor))))
            without = without + 1 if change >= least else 0
            least = min(least, change)
            self._report(change / WIN_VALUE)

    def _prove(self) -> int:
        """Prove that no value is off by more than an error margin, and return this margin.

        All margins begin at one initial margin, and sweeps recompute them. The proof succeeds once a sweep leaves no
        margin wider than the initial one. A larger initial margin is tried if this takes too many sweeps, or if a
        margin reaches `MAX_MARGIN`, which means that it has overflowed.
        """
        margins = self.margins.reshape(-1, self._boards)
        for begin in _FIRST_MARGINS:
            margins[:] = begin
            margins[:, 0] = margins[:, -1] = 0
            for _ in range(_SWEEPS_PER_MARGIN):
                widest: int = max(self._map_rows(self.sweep_margins))
                self._report(None)
                if widest <= begin:
                    return widest
                if widest >= MAX_MARGIN:
                    break
        raise ArenaFault(
            "the values no longer change, but are not proven right: more sweeps don't help, a lower max_troops may"
        )

    def _map_rows(self, task: Callable[[int, int], Any]) -> Any:
        """Run `task` in threads for all rows, in parts of `_ROWS_PER_TASK` rows. Return the results of the parts."""
        firsts = range(0, self.length, _ROWS_PER_TASK)
        return self._pool.map(task, firsts, (min(first + _ROWS_PER_TASK, self.length) for first in firsts))

    def sweep_rows(self, first: int, last: int) -> int:
        """Recompute the values of rows `first` to `last` - 1 once, and return the largest change of a value."""
        room = self._rooms.get()
        try:
            return sweep(self.values, first, last, self._moves, *room[:-1])
        finally:
            self._rooms.put(room)

    def sweep_margins(self, first: int, last: int) -> int:
        """Recompute the margins (bounds on the errors of values) of rows `first` to `last` - 1 once, and return the
        widest.
        """
        room = self._rooms.get()
        try:
            return sweep_bounds(self.values, self.margins, first, last, self._moves, *room)
        finally:
            self._rooms.put(room)

    def _sweep_and_store_changes(self, unit: float, first: int, last: int) -> tuple[int, float, float]:
        """Recompute the values of rows, and store their changes in multiples of `unit`. Return the largest change and
        two sums, whose quotient is the factor by which changes shrink in a sweep.

        The first sum is of the products of each new change with the stored change of the same value, the second of the
        squares of the stored changes.
        """
        part = slice(first * self._boards, last * self._boards)
        before, notes = self.values[part].astype(float), self._changes[part]
        change = self.sweep_rows(first, last)
        earlier, steps = notes.astype(float), (self.values[part] - before) / unit
        notes[:] = numpy.clip(numpy.rint(steps), -_MAX_STORED_CHANGE, _MAX_STORED_CHANGE)
        return change, float((steps * earlier).sum()), float((earlier * earlier).sum())

    def _extrapolate(self, far: float, first: int, last: int) -> None:
        part = slice(first * self._boards, last * self._boards)
        values = self.values[part] + far * self._changes[part]
        self.values[part] = numpy.clip(numpy.rint(values), -WIN_VALUE, WIN_VALUE)

    def _report(self, change: float | None) -> None:
        spent = self._spent
        spent[:] = spent[0] + 1, time.perf_counter() - self._began[0], time.process_time() - self._began[1]
        self._told(SolvingProgress(int(spent[0]), change, float(spent[1])))


def open_values(path: Path, length: int) -> tuple[Any, Any]:
    """Open a file of unfinished values. Return its statistics (see `_STATS_SIZE`) and values (all 0 in a new file)."""
    size = 8 * _STATS_SIZE + 4 * length
    with path.open("r+b" if path.exists() else "wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)  # a full disk raises an error here, not a signal later
        file.truncate(size)
    mapped = numpy.memmap(path, numpy.uint8, "r+", shape=(size,)).view(numpy.ndarray)
    return mapped[: 8 * _STATS_SIZE].view(numpy.float64), mapped[8 * _STATS_SIZE :].view(numpy.int32)
