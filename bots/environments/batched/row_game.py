"""The common part of batches of small games without dice for two seats."""

from __future__ import annotations

from typing import Any

import numpy as np

from bots.environments.batched.batch import Numbers, RowBatch
from machine.compiled import compiled

TURN, OVER, PLY, CELLS = range(4)
"""The indices of numbers in a game's row: `TURN` is the seat to move, `OVER` says whether the game is over, `PLY` is
the ply. The numbers of the position begin at `CELLS`.
"""


class SmallBatch(RowBatch[Any]):
    """A batch of games of two seats that move in turn. A game's row begins with the numbers at `TURN`, `OVER` and
    `PLY`.
    """

    columns = (TURN, OVER)

    def row(self, position: Any, seat: int, at: int, cells: tuple[int, ...]) -> Numbers:
        """Return the row of numbers that stands for a position."""
        return np.array([seat, self.rules.to_move(position) is None, at, *cells], np.int64)


@compiled
def end_game(state: Any, winner: int, rewards: Any, ended: Any) -> None:
    """End a game of two seats. The winner's reward is 1, the loser's −1. A `winner` of −1 means a draw: no rewards."""
    state[OVER] = 1
    ended[0] = ended[1] = 1
    if winner >= 0:
        rewards[winner] += 1.0
        rewards[1 - winner] -= 1.0
