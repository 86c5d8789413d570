"""The evaluation of tic-tac-toe, which counts open lines."""

from __future__ import annotations

from typing import Any

from games.tictactoe.rules import LINES, Grid
from protocol.games.base import Game


def open_line_difference(state: Grid, seat: int) -> int:
    """Return the lines still open to `seat` minus those open to the opponent, from −8 to 8."""
    cells = state.cells
    own, other = seat + 1, 2 - seat
    difference = 0
    for a, b, c in LINES:
        marks = (cells[a], cells[b], cells[c])
        difference += (other not in marks) - (own not in marks)
    return difference


def lines_share(rules: Game[Any, Any], state: Grid, seat: int) -> float:
    """Return `open_line_difference` divided by 9, so that it lies between −1 and 1."""
    return open_line_difference(state, seat) / 9
