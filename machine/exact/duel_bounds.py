"""The values of bounded Risk between two bounds that are drawn closer, right at any time (L. S. Shapley, 1953).

Of a full board two chances are kept: with which the mover wins at least, and loses at least. From 0, which is right,
what follows of right ones is right, in whatever order they are drawn on.
"""

from __future__ import annotations

from typing import Any

from machine.compiled import compiled, entry
from machine.exact.duel_rows import TURN_BITS
from protocol.games.risk.duel import ARMY, REINFORCEMENT, TAKEN

CROSSED = 2.0
"""Bounds that exclude each other: they were not right before."""
_TAKEN = float(TAKEN)
_TURN = (1 << TURN_BITS) - 1
_ROUNDING = 2.0**-50
"""More than one step can round up: some three times 2^-53."""

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
            row = (spot >> TURN_BITS) * len(best)
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
    taken_row = (spot >> TURN_BITS) * len(best)
    taken_all = ((spot & _TURN) + 1) * boards - 1 - (1 << to)
    lost = defence if strength > defence else strength - ARMY
    spot = spots[number + lost * room[2 * source]]
    row = (spot >> TURN_BITS) * len(best)
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

    `ends` is of `both_ways`; `heads`, `spots` and `holders` are those of `BoardRows`; there is `room` for two integers
    a territory, and `best` for the chances of a row.
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
