"""Tic-tac-toe."""

from __future__ import annotations

import numpy as np

from bots.environments.base import Encoding, Vector
from protocol.games.base import Game
from protocol.games.tictactoe import Grid


class GridEncoding(Encoding[Grid, int]):
    """An action is a cell. A vector is three times nine cells: the seat's own, the other's, the empty ones."""

    size = 27
    actions = 9

    def __init__(self, rules: Game[Grid, int]) -> None:
        self._rules = rules

    def vector(self, state: Grid, seat: int) -> Vector:
        cells = np.array(state.cells)
        return np.concatenate((cells == seat + 1, cells == 2 - seat, cells == 0)).astype(np.float32)

    def moves(self, state: Grid) -> dict[int, int]:
        return {cell: cell for cell in self._rules.legal_moves(state)}
