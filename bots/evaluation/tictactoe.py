"""Tic-tac-toe by open lines."""

from __future__ import annotations

from typing import Any

from protocol.games.base import Game
from protocol.games.tictactoe import LINES, Grid


def lines(state: Grid, seat: int) -> int:
    """The lines still open to `seat`, free of the other's marks, minus those open to the other: −8 to 8."""
    cells = state.cells
    own, other = seat + 1, 2 - seat
    difference = 0
    for a, b, c in LINES:
        marks = (cells[a], cells[b], cells[c])
        difference += (other not in marks) - (own not in marks)
    return difference


def lines_share(rules: Game[Any, Any], state: Grid, seat: int) -> float:
    """`lines` as a search wants it, between −1 and 1: in ninths."""
    return lines(state, seat) / 9
