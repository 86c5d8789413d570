"""Evaluations of games without a map. In heap games they guess from the number of heaps (protocol.games.theory has
exact values); in tic-tac-toe they count open lines.
"""

from __future__ import annotations

from typing import Any

from protocol.games.base import Game
from protocol.games.grundy import Grundy, Heaps
from protocol.games.nim import Nim, Position
from protocol.games.tictactoe import LINES, Grid

_GUESSED_VALUE = 0.5
"""The evaluation of a heap position that is guessed to be a win for the seat."""


def nim_parity(rules: Game[Any, Any], state: Position, seat: int) -> float:
    """Return +½ or −½, guessing the winner as if every heap that allows a move allowed exactly one.

    The seat to move would then win if the number of such heaps is odd, in misère if it is even. The guess is right only
    at the very end; earlier it is no better than a coin toss. Beginners play by it.
    """
    assert isinstance(rules, Nim)
    least = rules.take[0] if rules.take else 1
    odd = sum(heap >= least for heap in state.heaps) % 2 == 1
    return _GUESSED_VALUE if (odd != rules.misere) == (state.seat == seat) else -_GUESSED_VALUE


def grundy_parity(rules: Game[Any, Any], state: Heaps, seat: int) -> float:
    """Return +½ or −½ by the guess of `nim_parity`, counting the heaps that can be split."""
    assert isinstance(rules, Grundy)
    odd = sum(heap > 2 for heap in state.heaps) % 2 == 1
    return _GUESSED_VALUE if odd == (rules.to_move(state) == seat) else -_GUESSED_VALUE


def open_line_difference(state: Grid, seat: int) -> int:
    """Return the number of lines still open to `seat` minus that of the opponent, from −8 to 8."""
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
