"""The draft rule on flat arrays. games.risk.rules.draft defines the rule and its rounding."""

from __future__ import annotations

from math import floor
from typing import Any

from games.risk.search.campaign_board import BORDERS
from games.risk.search.flat_position import CELL_LENGTH, FIRST_CELL, TERRITORY_COUNT
from machine.compiled import compiled


@compiled
def share_units(board: Any, cells: Any, placements: Any, begin: int, pressure: Any, seat: int, units: int) -> int:
    """Share the units of a draft among the territories of `seat` under most pressure. Return the number of these
    territories.

    Write their cells to `placements` from `begin` on. The units for a cell stand `board[TERRITORY_COUNT]` entries after
    the cell. `cells` is an array in which a cell begins with its owner and its troops. `pressure` is scratch space of
    one float a territory.
    """
    kept = _sort_by_pressure(board, cells, placements, begin, pressure, seat)
    total = 0.0
    for i in range(kept):
        total += pressure[i]
    placed = begin + board[TERRITORY_COUNT]
    left = units
    for i in range(kept):
        share = pressure[i] / total if total > 0.0 else 1.0 / kept
        count = min(left, max(1, floor(share * units + 0.5)))
        placements[placed + i] = count
        left -= count
    for i in range(left):
        placements[placed + i % kept] += 1
    return kept


@compiled
def _sort_by_pressure(board: Any, cells: Any, room: Any, begin: int, pressure: Any, seat: int) -> int:
    """Write the cells of the seat's territories to the array `room` from `begin` on, those under most pressure first.
    Write the pressure on each to `pressure`. Return the number of territories to draft to: half of them, rounded up.
    """
    own = 0
    for at in range(FIRST_CELL, board[BORDERS], CELL_LENGTH):
        if cells[at] != seat:
            continue
        enemies = 0
        for i in range(board[at], board[at + 1]):
            if cells[board[i]] != seat:
                enemies += cells[board[i] + 1]
        here = enemies / cells[at + 1]
        i = own
        while i > 0 and pressure[i - 1] < here:
            pressure[i] = pressure[i - 1]
            room[begin + i] = room[begin + i - 1]
            i -= 1
        pressure[i] = here
        room[begin + i] = at
        own += 1
    return (own + 1) // 2
