"""Two kinds of sweeps over the full boards of bounded Risk. One improves the values by trying all moves, the other
proves an error bound.

A row has the values of all boards with the same troops on each territory. A value is a 32-bit integer, `WIN_VALUE` for
a win of the mover. Its index in the row is the set of territories that the mover's opponent holds.

A sweep applies a move to all boards of a row at once, ordered by the set of territories that the mover holds. After the
move, the mover is the other seat's opponent, so this is also the order of the values that the move leads to. The inner
loops read them one after the other without branches, which is many times faster than board by board.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from games.risk.exact.file import WIN_VALUE
from games.risk.exact.rows import ATTACK_KIND, MOVE_SIZE, REINFORCEMENT_KIND, SYMMETRY_BITS, SYMMETRY_MASK, fill_moves
from games.risk.rules.duel import WIN_PROBABILITY
from machine.compiled import compiled, entry

MARGINS_PER_UNIT = 16
"""The factor by which the unit of stored error margins is finer than the unit of stored values."""
MAX_MARGIN = (1 << 16) - 1
"""The largest margin that can be stored. It means that no error bound is known."""
_WIN_WEIGHT = float(WIN_PROBABILITY.numerator)
"""The number of attacks won on average in `_TOTAL_WEIGHT` attacks. Whole numbers avoid an additional rounding."""
_LOSS_WEIGHT = float(WIN_PROBABILITY.denominator - WIN_PROBABILITY.numerator)
"""The number of attacks lost on average in `_TOTAL_WEIGHT` attacks."""
_TOTAL_WEIGHT = float(WIN_PROBABILITY.denominator)
"""The common denominator of probabilities: an attack is won with probability `_WIN_WEIGHT` / `_TOTAL_WEIGHT`, and lost
with probability `_LOSS_WEIGHT` / `_TOTAL_WEIGHT`.
"""
SCRATCH_ROWS = 4
"""Number of scratch rows for each thread, behind the rows of the table. Rows are copied to them with a symmetry
applied.
"""


class RowMoves(NamedTuple):
    """The data from which a sweep computes the moves of a row. `cap` and `ends` are arguments of `fill_moves`, `masks`
    is the result of `build_masks`, and the others are the arrays of `BoardRows`.
    """

    cap: int
    ends: Any
    masks: Any
    heads: Any
    spots: Any
    holders: Any


@compiled
def _find_row(table: Any, spot: int, holders: Any, boards: int, scratch: int) -> int:
    """Return the index in `table` at which the values of the row with this spot begin. If the spot has a symmetry,
    first copy the stored row, with the symmetry applied, to the scratch row, and return the index `scratch` of this
    row.
    """
    at = (spot >> SYMMETRY_BITS) * boards
    turn = (spot & SYMMETRY_MASK) * boards
    if turn == 0:
        return at
    images = holders[turn : turn + boards]
    row = table[at : at + boards]
    to = table[scratch : scratch + boards]
    for held in range(boards):
        to[held] = row[images[held]]
    return scratch


@compiled
def _reinforce(best: Any, mask: Any, after: Any) -> None:
    for held in range(len(best)):
        best[held] = max(best[held], mask[held] - _TOTAL_WEIGHT * after[held])


@compiled
def _attack(best: Any, mask: Any, taken: Any, repelled: Any) -> None:
    for held in range(len(best)):
        best[held] = max(best[held], mask[held] - _WIN_WEIGHT * taken[held] - _LOSS_WEIGHT * repelled[held])


@compiled
def _attack_equals(best: Any, mask: Any, taken: Any, again: Any) -> None:
    """Raise the values in `best`, one for each board of a row, to the value of an attack between equal numbers of
    troops, if that is better. If the attack fails, the attacking territory has no owner: the opponent invades it, and
    the mover moves again.
    """
    last = len(best) - 1
    for held in range(len(best)):
        best[held] = max(
            best[held], mask[held] - _WIN_WEIGHT * taken[held] + _LOSS_WEIGHT * again[numpy.uint64(last - held)]
        )


@compiled
def _store_values(row: Any, best: Any) -> int:
    """Store the values of a row, and return the largest change of a value."""
    last = len(best) - 1
    best[0] = -_TOTAL_WEIGHT * WIN_VALUE
    best[last] = _TOTAL_WEIGHT * WIN_VALUE
    change = 0
    for held in range(len(best)):
        value = numpy.int32(numpy.floor(best[numpy.uint64(last - held)] / _TOTAL_WEIGHT + 0.5))
        change = max(change, abs(numpy.int64(value) - row[held]))
        row[held] = value
    return change


@entry
def sweep(
    values: Any,
    first: int,
    last: int,
    row_moves: RowMoves,
    spare: int,
    room: Any,
    moves: Any,
    best: Any,
) -> int:
    """Recompute the values of the rows from `first` to `last` - 1 in place, from the current values. Return the largest
    change.

    `SCRATCH_ROWS` scratch rows begin at the index `spare` of `values`. `room` and `moves` are scratch space that is
    passed to `fill_moves` as `scratch` and `moves`. `best` is scratch space for one row.
    """
    cap, ends, masks, heads, spots, holders = row_moves
    boards = len(best)
    change = 0
    for at in range(first, last):
        best[:] = -numpy.inf
        for move in range(0, fill_moves(heads[at], cap, ends, spots, room, moves), MOVE_SIZE):
            kind = moves[move]
            mask = masks[moves[move + 1] * boards : (moves[move + 1] + 1) * boards]
            to = _find_row(values, moves[move + 2], holders, boards, spare) + moves[move + 3]
            if kind == REINFORCEMENT_KIND:
                _reinforce(best, mask, values[to : to + boards])
                continue
            failed = _find_row(values, moves[move + 4], holders, boards, spare + 2 * boards) + moves[move + 5]
            if kind == ATTACK_KIND:
                _attack(best, mask, values[to : to + boards], values[failed : failed + boards])
            else:
                _attack_equals(best, mask, values[to : to + boards], values[failed : failed + boards])
        change = max(change, _store_values(values[at * boards : (at + 1) * boards], best))
    return change

    # The true values lie within value ± margin if sweeps leave no margin wider than it began (A. Hartmanns and B. L.
    # Kaminski, Optimistic value iteration, 2020). Sweeps preserve the order of bounds, so repeating the same sweeps
    # would narrow all bounds down to the only fixed point, the true values.


@compiled
def _reinforce_between(low: Any, high: Any, mask: Any, after: Any, margin: Any) -> None:
    for held in range(len(low)):
        value = mask[held] - _TOTAL_WEIGHT * MARGINS_PER_UNIT * after[held]
        low[held] = max(low[held], value - _TOTAL_WEIGHT * margin[held])
        high[held] = max(high[held], value + _TOTAL_WEIGHT * margin[held])


@compiled
def _attack_between(
    low: Any, high: Any, mask: Any, taken: Any, taken_margin: Any, repelled: Any, repelled_margin: Any
) -> None:
    for held in range(len(low)):
        value = (
            mask[held] - _WIN_WEIGHT * MARGINS_PER_UNIT * taken[held] - _LOSS_WEIGHT * MARGINS_PER_UNIT * repelled[held]
        )
        margin = _WIN_WEIGHT * taken_margin[held] + _LOSS_WEIGHT * repelled_margin[held]
        low[held] = max(low[held], value - margin)
        high[held] = max(high[held], value + margin)


@compiled
def _attack_equals_between(
    low: Any, high: Any, mask: Any, taken: Any, taken_margin: Any, again: Any, again_margin: Any
) -> None:
    last = len(low) - 1
    for held in range(len(low)):
        other = numpy.uint64(last - held)
        value = (
            mask[held] - _WIN_WEIGHT * MARGINS_PER_UNIT * taken[held] + _LOSS_WEIGHT * MARGINS_PER_UNIT * again[other]
        )
        margin = _WIN_WEIGHT * taken_margin[held] + _LOSS_WEIGHT * again_margin[other]
        low[held] = max(low[held], value - margin)
        high[held] = max(high[held], value + margin)


@compiled
def _store_margins(margins: Any, values: Any, low: Any, high: Any) -> int:
    """Store the error margins of a row, and return the widest."""
    last = len(low) - 1
    low[0] = high[0] = -_TOTAL_WEIGHT * MARGINS_PER_UNIT * WIN_VALUE
    low[last] = high[last] = _TOTAL_WEIGHT * MARGINS_PER_UNIT * WIN_VALUE
    widest = 0
    for held in range(len(low)):
        other = numpy.uint64(last - held)
        value = _TOTAL_WEIGHT * MARGINS_PER_UNIT * values[held]
        margin = numpy.ceil(max(high[other] - value, value - low[other]) / _TOTAL_WEIGHT)
        margins[held] = min(margin, MAX_MARGIN)
        widest = max(widest, int(margins[held]))
    return widest


@entry
def sweep_bounds(
    values: Any,
    margins: Any,
    first: int,
    last: int,
    row_moves: RowMoves,
    spare: int,
    room: Any,
    moves: Any,
    low: Any,
    high: Any,
) -> int:
    """Recompute the error margins of the rows from `first` to `last` - 1 in place, from the current values and margins.
    Return the widest margin.

    A margin of `MAX_MARGIN` has overflowed and is no error bound; neither are margins computed from it. The arguments
    are as in `sweep`; `low` and `high` are scratch space for one row each.
    """
    cap, ends, masks, heads, spots, holders = row_moves
    boards = len(low)
    widest = 0
    for at in range(first, last):
        low[:] = -numpy.inf
        high[:] = -numpy.inf
        for move in range(0, fill_moves(heads[at], cap, ends, spots, room, moves), MOVE_SIZE):
            kind = moves[move]
            mask = masks[moves[move + 1] * boards : (moves[move + 1] + 1) * boards]
            to = _find_row(values, moves[move + 2], holders, boards, spare) + moves[move + 3]
            _find_row(margins, moves[move + 2], holders, boards, spare)
            if kind == REINFORCEMENT_KIND:
                _reinforce_between(low, high, mask, values[to : to + boards], margins[to : to + boards])
                continue
            failed = _find_row(values, moves[move + 4], holders, boards, spare + 2 * boards) + moves[move + 5]
            _find_row(margins, moves[move + 4], holders, boards, spare + 2 * boards)
            taken, taken_margin = values[to : to + boards], margins[to : to + boards]
            after, after_margin = values[failed : failed + boards], margins[failed : failed + boards]
            if kind == ATTACK_KIND:
                _attack_between(low, high, mask, taken, taken_margin, after, after_margin)
            else:
                _attack_equals_between(low, high, mask, taken, taken_margin, after, after_margin)
        row = slice(at * boards, (at + 1) * boards)
        widest = max(widest, _store_margins(margins[row], values[row], low, high))
    return widest
