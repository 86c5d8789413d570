"""The encoding of nim for learning: positions as vectors, moves as action numbers. The heaps in the config determine
the number of actions and the length of a vector.
"""

from __future__ import annotations

import numpy as np

from bots.environments.encodings import Encoding, Vector
from games.nim.rules import Nim, Position, Take
from protocol.games.base import Game


class NimEncoding(Encoding[Position, Take]):
    """The encoding of nim. An action takes a number of objects from a heap. Actions are ordered by heap, then number.

    A vector has a one-hot block for every heap: its size, from 0 to its initial size. Then follows whether the seat is
    to move.
    """

    def __init__(self, rules: Game[Position, Take]) -> None:
        assert isinstance(rules, Nim)
        self._rules = rules
        self.moves_by_number = rules.legal_moves(Position(rules.heaps, 0, 0))
        """The moves of all actions; the index is the number of the action."""
        self._numbers = {move: number for number, move in enumerate(self.moves_by_number)}
        self.actions = max(1, len(self.moves_by_number))
        ends = np.cumsum([size + 1 for size in rules.heaps])
        self._starts = np.concatenate(([0], ends[:-1]))
        self.size = int(ends[-1]) + 1

    def vector(self, state: Position, seat: int) -> Vector:
        vector = np.zeros(self.size, np.float32)
        vector[self._starts + state.heaps] = 1
        vector[-1] = self._rules.to_move(state) == seat
        return vector

    def moves(self, state: Position) -> dict[int, Take]:
        return {self._numbers[move]: move for move in self._rules.legal_moves(state)}
