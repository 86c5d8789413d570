"""Opinions in games without a map: of heaps a guess from nothing but their number, whose theory is in
protocol.games.theory; of tic-tac-toe the open lines.
"""

from __future__ import annotations

from typing import Any

from protocol.games.base import Game
from protocol.games.grundy import Grundy, Heaps
from protocol.games.nim import Nim, Position
from protocol.games.tictactoe import LINES, Grid

_GUESS = 0.5


def nim_parity(rules: Game[Any, Any], state: Position, seat: int) -> float:
    """+½ or −½: as if every heap that allows a move allowed exactly one.

    Then an odd number of them is good for the seat to move, in misère an even one. True at the very end, and a coin's
    toss before: what a beginner goes by.
    """
    assert isinstance(rules, Nim)
    least = rules.take[0] if rules.take else 1
    odd = sum(heap >= least for heap in state.heaps) % 2 == 1
    return _GUESS if (odd != rules.misere) == (state.seat == seat) else -_GUESS


def grundy_parity(rules: Game[Any, Any], state: Heaps, seat: int) -> float:
    """+½ or −½: the same guess over the heaps that can be split."""
    assert isinstance(rules, Grundy)
    odd = sum(heap > 2 for heap in state.heaps) % 2 == 1
    return _GUESS if odd == (rules.to_move(state) == seat) else -_GUESS


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
