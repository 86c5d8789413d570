"""The encoding of the dilemma for learning: states as vectors, moves as action numbers."""

from __future__ import annotations

import numpy as np

from bots.environments.encodings import Encoding, Vector
from games.dilemma.rules import Dilemma, DilemmaState
from protocol.games.base import Game


class DilemmaEncoding(Encoding[DilemmaState, int]):
    """The encoding of the dilemma. An action is a choice.

    A vector has two one-hot blocks: the seat's own choice in the last round, and the opponent's choice. Both have the
    length of the greater number of choices of a seat. Two numbers follow: the fraction of rounds played, and a flag
    that is 1 until the first round has been played.
    """

    def __init__(self, rules: Game[DilemmaState, int]) -> None:
        assert isinstance(rules, Dilemma)
        self._rules = rules
        self.actions = max(map(len, rules.choices))
        self.size = 2 * self.actions + 2

    def vector(self, state: DilemmaState, seat: int) -> Vector:
        vector = np.zeros(self.size, np.float32)
        if state.last is None:
            vector[-1] = 1
        else:
            vector[state.last[seat]] = 1
            vector[self.actions + state.last[1 - seat]] = 1
        vector[-2] = state.at / self._rules.rounds
        return vector

    def moves(self, state: DilemmaState) -> dict[int, int]:
        return self.moves_of(state, 0)

    def moves_of(self, state: DilemmaState, seat: int) -> dict[int, int]:
        if seat not in self._rules.movers(state):
            return {}
        return {choice: choice for choice in self._rules.legal_moves_of(state, seat)}
