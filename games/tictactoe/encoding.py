"""The encoding of tic-tac-toe for learning: positions as vectors, moves as action numbers."""

from __future__ import annotations

import numpy as np

from bots.environments.encodings import Encoding, Vector
from games.tictactoe.rules import Grid
from protocol.games.base import Game


class GridEncoding(Encoding[Grid, int]):
    """The encoding of tic-tac-toe. An action is a cell. A vector has three blocks of nine cells: whether each cell is
    the seat's own, the opponent's, or empty.
    """

    size = 27
    actions = 9

    def __init__(self, rules: Game[Grid, int]) -> None:
        self._rules = rules

    def vector(self, state: Grid, seat: int) -> Vector:
        cells = np.array(state.cells)
        return np.concatenate((cells == seat + 1, cells == 2 - seat, cells == 0)).astype(np.float32)

    def moves(self, state: Grid) -> dict[int, int]:
        return {cell: cell for cell in self._rules.legal_moves(state)}
