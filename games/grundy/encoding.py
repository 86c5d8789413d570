"""The encoding of Grundy's game for learning: positions as vectors, moves as action numbers. The heaps in the config
determine the number of actions and the length of a vector.
"""

from __future__ import annotations

import numpy as np

from bots.environments.encodings import Encoding, Vector
from games.grundy.rules import Grundy, Heaps, Split
from protocol.games.base import Game


class GrundyEncoding(Encoding[Heaps, Split]):
    """The encoding of Grundy's game. An action is the size of a heap, from 3 on, and the size of its smaller part, from
    1 on. It splits the first of equal heaps.

    A vector has the number of heaps of every size from 1 on, as a fraction of the most heaps of this size that there
    can be. Then follows whether the seat is to move.
    """

    def __init__(self, rules: Game[Heaps, Split]) -> None:
        assert isinstance(rules, Grundy)
        self._rules = rules
        largest = max(rules.heaps)
        splits = [(size, part) for size in range(3, largest + 1) for part in range(1, (size + 1) // 2)]
        self._numbers = {split: number for number, split in enumerate(splits)}
        self.actions = max(1, len(splits))
        self.size = largest + 1
        self._max_counts = np.array([sum(heap // size for heap in rules.heaps) for size in range(1, largest + 1)])

    def vector(self, state: Heaps, seat: int) -> Vector:
        vector = np.empty(self.size, np.float32)
        vector[:-1] = np.bincount(state.heaps, minlength=self.size)[1:] / self._max_counts
        vector[-1] = self._rules.to_move(state) == seat
        return vector

    def moves(self, state: Heaps) -> dict[int, Split]:
        found: dict[int, Split] = {}
        for move in self._rules.legal_moves(state):
            found.setdefault(self._numbers[state.heaps[move.heap], move.split], move)
        return found
