"""Tables of bounded Risk too large to be solved by the way: sweeps over a file of values until they stand still, then
the proof of how close they are.

The values of what follows give those of boards. Every game ends, so these values are the only ones that follow of
themselves (S. D. Patek and D. P. Bertsekas, Stochastic shortest path games, 1999), and in whatever order, and from
whatever they begin with, sweeps come to them (D. P. Bertsekas, Distributed dynamic programming, 1982): a file that was
left anywhere is gone on with.
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

from machine.atomic_write import locked
from machine.compiled import ints, zeros
from machine.exact.duel_file import ONE, Spent, place_of, write_mapped
from machine.exact.duel_rows import MOVE, masks_of, rows_of
from machine.exact.duel_shape import Shape
from machine.exact.duel_sweeps import PARTS, SPARE, WIDEST, RowMoves, sweep, sweep_bounds
from protocol.errors import ArenaFault, UsageFault

TOLERANCE = 1
"""Units of a value by which the last sweep changed one, at most: rounding keeps some going."""
_FIRST_MARGINS = (1 << 10, 1 << 12, 1 << 14)
"""Where the proof begins: six hundred-millionths of a win, and more where rounding has added up to that."""
_PROVING = 25
"""Sweeps after which the next of these is tried."""
_RHYTHM = 30
"""Sweeps from one leap to the next."""
_PATIENCE = 2 * _RHYTHM
"""Sweeps without one that changed less than all before, after which the values stand as still as they ever will: a leap
that went astray is mended by the next.
"""
_NOTED = 30_000
"""What the largest change is noted as, of 16 bits."""
_COARSE = 5
"""Units: of smaller changes rounding is too large a part to leap by."""
_AT_ONCE = 500
"""Rows that a thread takes: they lie in the order in which the sweep is quickest, so threads stay side by side."""
_SPENT = 3
"""Numbers of 8 bytes before the values: sweeps, seconds, seconds of processors."""


class Step(NamedTuple):
    """How far solving is: by how much the last sweep changed a value at most, None where margins are being proven."""

    sweeps: int
    change: float | None
    seconds: float


def solve_mapped(shape: Shape, folder: Path, jobs: int, told: Callable[[Step], None]) -> Path:
    """Solve `shape` by `jobs` threads and leave its table in `folder`; where. `told` hears of each sweep.

    What is done is kept whenever the process ends, and gone on from. Raises `UsageFault` where another process is at
    it, `ArenaFault` where the folder can't hold it.
    """
    path = place_of(shape, folder)
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(path):
            Solving(shape, unfinished, jobs, told).run(path)
            unfinished.unlink()
    except BlockingIOError as exc:
        raise UsageFault(f"{path} is being solved by another process") from exc
    except OSError as exc:
        raise ArenaFault(f"{folder} can't hold the table: {exc.strerror or exc}") from exc
    return path


class Solving:
    """A table on its way: so many rows of `values`, and a margin of each.

    Before there are margins, changes are noted in their place.
    """

    def __init__(self, shape: Shape, unfinished: Path, jobs: int, told: Callable[[Step], None]) -> None:
        count = len(shape.places)
        self._shape, self._jobs, self._told = shape, jobs, told
        self._rows = rows_of(shape)
        self._boards, self.length = 1 << count, len(self._rows.heads)
        self._spent, self.values = open_values(unfinished, (self.length + SPARE * jobs) * self._boards)
        self.margins = numpy.zeros(len(self.values), numpy.uint16)
        self._changes = self.margins.view(numpy.int16)
        ends = ints(itertools.chain(*((a, b, b, a) for a, b in shape.edges)))
        self._moves = RowMoves(shape.cap, ends, masks_of(shape), *self._rows)
        self._rooms: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        for job in range(jobs):
            spare = (self.length + SPARE * job) * self._boards
            room = zeros(2 * count), zeros(MOVE * (count + len(ends))), *zeros(2 << count, float).reshape(2, -1)
            self._rooms.put((spare, *room))

    def run(self, path: Path) -> None:
        """To the end, and write what has come of it."""
        self.swept(0, 0)
        self.bounds_swept(0, 0)  # both compiled, before there are threads
        self._began = time.perf_counter() - self._spent[1], time.process_time() - self._spent[2]
        self._pool = ThreadPoolExecutor(self._jobs)
        try:
            self._iterate()
            error = self._prove() / (PARTS * ONE)
        finally:
            self._pool.shutdown(cancel_futures=True)
        spent = Spent(int(self._spent[0]), error, float(self._spent[1]), float(self._spent[2]))
        write_mapped(path, self._shape, spent, self._rows.heads, self.values[: self.length * self._boards])

    def _iterate(self) -> None:
        """Sweep until values stand still; on the way leap.

        What the values are still off by soon shrinks by the same factor in each sweep, everywhere. Two sweeps tell it,
        and so where all that are to come would lead: 1 / (1 - factor) times as far as the last.
        """
        change, unit, before_leap = 2 * ONE, 1.0, _RHYTHM
        least, without = change, 0
        while change > TOLERANCE and without < _PATIENCE:
            before_leap -= 1
            if before_leap > 1:
                change = max(self._all(self.swept))
            else:
                unit = change / _NOTED if before_leap == 1 else unit
                found = list(self._all(partial(self._noted, unit)))
                change = max(part[0] for part in found)
                factor = sum(part[1] for part in found) / max(sum(part[2] for part in found), 1.0)
                if before_leap == 0:
                    before_leap = _RHYTHM
                    if 0 < factor < 1 and change > _COARSE:
                        list(self._all(partial(self._extrapolated, unit * factor / (1 - factor))))
            without = without + 1 if change >= least else 0
            least = min(least, change)
            self._tell(change / ONE)

    def _prove(self) -> int:
        """How wide margins have to be: those whose sweeps lead to none that is wider than where they began.

        One that had no room in between is no bound, nor is what followed of it.
        """
        margins = self.margins.reshape(-1, self._boards)
        for begin in _FIRST_MARGINS:
            margins[:] = begin
            margins[:, 0] = margins[:, -1] = 0
            for _ in range(_PROVING):
                widest: int = max(self._all(self.bounds_swept))
                self._tell(None)
                if widest <= begin:
                    return widest
                if widest >= WIDEST:
                    break
        raise ArenaFault(
            "the values stand still and are not proven to be right: more sweeps would not help, a lower max_troops may"
        )

    def _all(self, task: Callable[[int, int], Any]) -> Any:
        """What a task returns for all rows, in parts."""
        firsts = range(0, self.length, _AT_ONCE)
        return self._pool.map(task, firsts, (min(first + _AT_ONCE, self.length) for first in firsts))

    def swept(self, first: int, last: int) -> int:
        """The largest change in the rows from `first` to `last`."""
        room = self._rooms.get()
        try:
            return sweep(self.values, first, last, self._moves, *room[:-1])
        finally:
            self._rooms.put(room)

    def bounds_swept(self, first: int, last: int) -> int:
        """The widest margin in the rows from `first` to `last`."""
        room = self._rooms.get()
        try:
            return sweep_bounds(self.values, self.margins, first, last, self._moves, *room)
        finally:
            self._rooms.put(room)

    def _noted(self, unit: float, first: int, last: int) -> tuple[int, float, float]:
        """The same, and each change noted in units; with the sum of its products with the changes noted before, and
        that of their squares.
        """
        part = slice(first * self._boards, last * self._boards)
        before, notes = self.values[part].astype(float), self._changes[part]
        change = self.swept(first, last)
        earlier, steps = notes.astype(float), (self.values[part] - before) / unit
        notes[:] = numpy.clip(numpy.rint(steps), -_NOTED, _NOTED)
        return change, float((steps * earlier).sum()), float((earlier * earlier).sum())

    def _extrapolated(self, far: float, first: int, last: int) -> None:
        """Go so many times as far as was noted."""
        part = slice(first * self._boards, last * self._boards)
        values = self.values[part] + far * self._changes[part]
        self.values[part] = numpy.clip(numpy.rint(values), -ONE, ONE)

    def _tell(self, change: float | None) -> None:
        spent = self._spent
        spent[:] = spent[0] + 1, time.perf_counter() - self._began[0], time.process_time() - self._began[1]
        self._told(Step(int(spent[0]), change, float(spent[1])))


def open_values(path: Path, length: int) -> tuple[Any, Any]:
    """What the file has of time spent, as 64-bit floats, and its first so many values; 0 where it has none."""
    size = 8 * _SPENT + 4 * length
    with path.open("r+b" if path.exists() else "wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)  # a full disk is told now, and not by a signal later
        file.truncate(size)
    mapped = numpy.memmap(path, numpy.uint8, "r+", shape=(size,)).view(numpy.ndarray)
    return mapped[: 8 * _SPENT].view(numpy.float64), mapped[8 * _SPENT :].view(numpy.int32)
