"""The common part of batches of small games without dice for two seats."""

from __future__ import annotations

from typing import Any

import numpy as np

from bots.environments.batched.batch import Numbers, RowBatch
from machine.compiled import compiled

TURN, OVER, PLY, CELLS = range(4)
"""These are slots of a game's state. TURN is the seat to move, OVER whether the game is over, PLY the ply. The heaps or
cells of the game begin at CELLS.
"""


class SmallBatch(RowBatch[Any]):
    """A batch of a game for two seats that move in turn. Its rows have the slots that this module defines."""

    columns = (TURN, OVER)

    def row(self, position: Any, seat: int, at: int, cells: tuple[int, ...]) -> Numbers:
        """Return a position as a row of the batch's states."""
        return np.array([seat, self.rules.to_move(position) is None, at, *cells], np.int64)


@compiled
def end_game(state: Any, winner: int, rewards: Any, ended: Any) -> None:
    """End a game of two seats. The winner is rewarded with 1, the loser with −1; a `winner` of −1 means a draw."""
    state[OVER] = 1
    ended[0] = ended[1] = 1
    if winner >= 0:
        rewards[winner] += 1.0
        rewards[1 - winner] -= 1.0
