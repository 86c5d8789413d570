"""Tables of bounded Risk too large to be solved by the way: sweeps over a file of bounds, right whenever it ends.

Of a full board two chances are kept: with which the mover wins at least, and loses at least. From 0, which is right,
what follows of right ones is right, in whatever order they are drawn closer (L. S. Shapley, 1953). The boards lie in
rows: what stands on each territory is a row, who holds which a place in it. Of the rows that symmetries turn into each
other one is kept.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from machine.atomic_write import locked
from machine.compiled import compiled, entry, ints, zeros
from machine.exact.duel_file import Spent, place_of, write_mapped
from machine.exact.duel_shape import Shape, symmetries, turned
from protocol.errors import ArenaFault, UsageFault
from protocol.games.risk.duel import ARMY, REINFORCEMENT, TAKEN

CLOSE = 1e-7
"""How far apart the bounds of a chance to win are in the end, at most. A value half way is off by as much, at most."""
CROSSED = 2.0
"""Bounds that exclude each other: they were not right before."""
_AT_ONCE = 500
"""Rows that a thread takes: they lie in the order in which the sweep is quickest, so threads stay side by side."""
_SPENT = 3
"""Numbers before the chances: sweeps, seconds, seconds of processors."""
_TURN_BITS = 7
"""A spot is the index of a row, and in so many bits below it that of a symmetry."""
_TURN = (1 << _TURN_BITS) - 1
_TAKEN = float(TAKEN)
_ROUNDING = 2.0**-50
"""More than one step can round up: some three times 2^-53."""


def solve_mapped(shape: Shape, folder: Path, jobs: int, told: Callable[[Spent], None]) -> Path:
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


def _solve(shape: Shape, path: Path, unfinished: Path, jobs: int, told: Callable[[Spent], None]) -> None:
    rows = rows_of(shape)
    count, length = len(shape.places), len(rows.heads)
    kept = opened(unfinished, _SPENT + length * (2 << count))
    chances, ends = kept[_SPENT:], ints(itertools.chain(*((a, b, b, a) for a, b in shape.edges)))
    began, cpu = time.perf_counter() - kept[1], time.process_time() - kept[2]

    def draw(first: int) -> float:
        last = min(first + _AT_ONCE, length)
        return draw_closer(chances, first, last, shape.cap, ends, *rows, zeros(2 * count), zeros(2 << count, float))

    draw(length)  # compiles, before there are threads
    widest = 1.0
    pool = ThreadPoolExecutor(jobs)
    try:
        while widest > CLOSE:
            widest = max(pool.map(draw, range(0, length, _AT_ONCE)))
            if widest == CROSSED:
                raise ArenaFault(f"{unfinished} is damaged: remove it, and the same command begins anew")
            kept[0] += 1
            kept[1] = time.perf_counter() - began
            kept[2] = time.process_time() - cpu
            spent = Spent(int(kept[0]), widest, float(kept[1]), float(kept[2]))
            told(spent)
    finally:
        pool.shutdown(cancel_futures=True)
    write_mapped(path, shape, spent, rows.heads, chances)


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


class BoardRows(NamedTuple):
    """A row's number has a digit for each territory, in base `cap`: its troops, counted down from the cap. So to
    reinforce leads to a lower number. All are flat arrays of 64-bit integers.
    """

    heads: Any
    """The numbers of the rows that are kept, ascending."""
    spots: Any
    """By number, the spot of the row that is kept for it, with the symmetry that leads there."""
    holders: Any
    """By symmetry, then by who holds the territories, who does after it."""


def rows_of(shape: Shape) -> BoardRows:
    """The rows of a map; seconds for the largest."""
    count = len(shape.places)
    images = symmetries(shape)
    weights = ints(shape.cap ** image[place] for image in images for place in range(count))
    heads, spots = zeros(shape.cap**count), zeros(shape.cap**count)
    kept = number_rows(heads, spots, shape.cap, weights, zeros(count))
    return BoardRows(
        heads[:kept].copy(), spots, ints(turned(held, image) for image in images for held in range(1 << count))
    )


@entry
def number_rows(heads: Any, spots: Any, cap: int, weights: Any, digits: Any) -> int:
    """Fill `heads` and `spots`; how many rows are kept. `digits` begin and end at 0."""
    count = len(digits)
    kept = 0
    for number in range(len(spots)):
        least = number
        turn = 0
        for first in range(0, len(weights), count):
            image = 0
            for k in range(count):
                image += digits[k] * weights[first + k]
            if image < least:
                least = image
                turn = first // count
        if least == number:
            heads[kept] = number
            spots[number] = kept << _TURN_BITS
            kept += 1
        else:
            spots[number] = (spots[least] >> _TURN_BITS << _TURN_BITS) + turn
        k = 0
        while k < count and digits[k] == cap - 1:
            digits[k] = 0
            k += 1
        if k < count:
            digits[k] += 1
    return kept


# A board with a free territory needs no chances of its own: an attack that leaves one is followed by its invasion. The
# chances of board `held` of row `at` stand at 2 * held from at * len(best) on. All boards of a row go through a move
# together, so that the inner loops have no branches: more than twice as fast as board by board.


@compiled
def _with_gap(bits: int, gap: int) -> int:
    """`bits` with those from `gap`, a power of 2, on moved up by one."""
    return bits + (bits & -gap)


@compiled
def _better(best: Any, held: int, won: float, lost: float) -> None:
    """Enter a move of a board with the bounds that it leads to."""
    best[2 * held] = max(best[2 * held], won)
    best[2 * held + 1] = min(best[2 * held + 1], lost)


@compiled
def _reinforce(chances: Any, number: int, cap: int, spots: Any, holders: Any, room: Any, best: Any) -> None:
    """Better `best` by the reinforcements of a row."""
    boards = len(best) // 2
    for k in range(0, len(room), 2):
        more = min(REINFORCEMENT, cap - room[k + 1])
        if more > 0:
            spot = spots[number - more * room[k]]
            row = (spot >> _TURN_BITS) * len(best)
            everyone = ((spot & _TURN) + 1) * boards - 1
            bit = 1 << k // 2
            for others in range(boards // 2):
                held = _with_gap(others, bit) + bit
                after = row + 2 * holders[everyone - held]
                _better(best, held, chances[after + 1], chances[after])


@compiled
def _attack(chances: Any, number: int, source: int, to: int, spots: Any, holders: Any, room: Any, best: Any) -> None:
    """Better `best` by the attacks of a row from one territory on another, which is no stronger."""
    boards = len(best) // 2
    strength = room[2 * source + 1]
    defence = room[2 * to + 1]
    spot = spots[number + (defence - 1) * room[2 * to]]
    taken_row = (spot >> _TURN_BITS) * len(best)
    taken_all = ((spot & _TURN) + 1) * boards - 1 - (1 << to)
    lost = defence if strength > defence else strength - ARMY
    spot = spots[number + lost * room[2 * source]]
    row = (spot >> _TURN_BITS) * len(best)
    nobody = (spot & _TURN) * boards
    low = 1 << min(source, to)
    high = 1 << max(source, to)
    if strength > defence:
        for others in range(boards // 4):
            held = _with_gap(_with_gap(others, low), high) + (1 << source)
            taken = taken_row + 2 * holders[taken_all - held]
            after = row + 2 * holders[nobody + boards - 1 - held]
            won = _TAKEN * chances[taken + 1] + (1 - _TAKEN) * chances[after + 1]
            _better(best, held, won, _TAKEN * chances[taken] + (1 - _TAKEN) * chances[after])
    else:
        for others in range(boards // 4):
            held = _with_gap(_with_gap(others, low), high) + (1 << source)
            taken = taken_row + 2 * holders[taken_all - held]
            after = row + 2 * holders[nobody + held - (1 << source)]
            won = _TAKEN * chances[taken + 1] + (1 - _TAKEN) * chances[after]
            _better(best, held, won, _TAKEN * chances[taken] + (1 - _TAKEN) * chances[after + 1])


@entry
def draw_closer(
    chances: Any, first: int, last: int, cap: int, ends: Any, heads: Any, spots: Any, holders: Any, room: Any, best: Any
) -> float:
    """Draw the bounds of rows `first` to `last` closer, in place; the widest that is left between two, or `CROSSED`.

    `ends` has each border twice, as where an attack comes from and where it goes; `heads`, `spots` and `holders` are
    those of `BoardRows`; there is `room` for two integers a territory, and `best` for the chances of a row.
    """
    widest = 0.0
    for at in range(first, last):
        for place in range(0, len(best), 2):
            best[place] = 0.0
            best[place + 1] = 1.0
        weight = 1
        for k in range(0, len(room), 2):
            room[k] = weight
            room[k + 1] = cap - heads[at] // weight % cap
            weight *= cap
        _reinforce(chances, heads[at], cap, spots, holders, room, best)
        for end in range(0, len(ends), 2):
            if room[2 * ends[end] + 1] >= room[2 * ends[end + 1] + 1]:
                _attack(chances, heads[at], ends[end], ends[end + 1], spots, holders, room, best)
        row = at * len(best)
        chances[row + 1] = 1.0
        chances[row + len(best) - 2] = 1.0
        for place in range(2, len(best) - 2, 2):
            won = max(chances[row + place], best[place] - _ROUNDING)
            lost = max(chances[row + place + 1], best[place + 1] - _ROUNDING)
            chances[row + place] = won
            chances[row + place + 1] = lost
            widest = max(widest, 1.0 - won - lost)
            if won + lost > 1.0 + _ROUNDING:
                return CROSSED
    return widest
