"""Encodings of nim, Grundy's game and tic-tac-toe. In heap games, the config's heaps determine actions and sizes."""

from __future__ import annotations

import numpy as np

from bots.environments.encodings import Encoding, Vector
from protocol.games.base import Game
from protocol.games.grundy import Grundy, Heaps, Split
from protocol.games.nim import Nim, Position, Take
from protocol.games.tictactoe import Grid


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


class GrundyEncoding(Encoding[Heaps, Split]):
    """The encoding of Grundy's game. An action is the size of a heap, from 3 on, and the size of its smaller part, from
    1 on. It splits the first of equal heaps.

    A vector has the number of heaps of every size from 1 on, as a fraction of the maximum number of heaps of this size.
    Then follows whether the seat is to move.
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
