"""Batches of nim and tic-tac-toe."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bots.environments.batched.batch import Masks, Numbers, RowBatch, Vectors
from bots.environments.small_games import NimEncoding
from machine.compiled import compiled, entry
from measuring.value_function import NoLuck
from protocol.games.base import Game
from games.nim.rules import Nim, Position
from games.tictactoe.rules import LINES, Grid

TURN, OVER, PLY, CELLS = range(4)
"""These are slots of a game's state. TURN is the seat to move, OVER whether the game is over, PLY the ply. The heaps of
nim or the cells of tic-tac-toe begin at CELLS.
"""


class _SmallBatch(RowBatch[Any]):
    """The common part of the batches of nim and tic-tac-toe."""

    columns = (TURN, OVER)

    def _row(self, position: Any, seat: int, at: int, cells: tuple[int, ...]) -> Numbers:
        return np.array([seat, self.rules.to_move(position) is None, at, *cells], np.int64)


class NimBatch(_SmallBatch):
    """A batch of nim. `_moves` has two rows: the heap of each action, and the number of objects that it takes."""

    def __init__(self, rules: Game[Position, Any], count: int, luck: str = NoLuck.name) -> None:
        assert isinstance(rules, Nim)
        super().__init__(rules, count, luck, width=CELLS + len(rules.heaps))
        assert isinstance(self.encoding, NimEncoding)
        moves = self.encoding.moves_by_number
        self._moves = np.array([[move.heap for move in moves], [move.take for move in moves]], np.int64)
        self._sizes = np.array(rules.heaps, np.int64)
        self._least = 1 if rules.take is None else rules.take[0]
        self._misere = int(rules.misere)

    def _flatten(self, position: Position) -> Numbers:
        return self._row(position, position.seat, position.at, position.heaps)

    def position(self, game: int) -> Position:
        seat, _, at, *heaps = self._states[game].tolist()
        return Position(tuple(heaps), seat, at)

    def observe(self, games: Numbers, seats: Numbers, vectors: Vectors, masks: Masks) -> None:
        _write_heap_observations(self._moves, self._sizes, self._states, games, seats, vectors, masks)

    def _step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int:
        given = self._moves, self._least, self._misere
        return int(_play_takes(*given, self._states, games, actions, rewards, ended))


class GridBatch(_SmallBatch):
    def __init__(self, rules: Game[Grid, int], count: int, luck: str = NoLuck.name) -> None:
        super().__init__(rules, count, luck, width=CELLS + 9)
        self._lines = np.array(LINES, np.int64)

    def _flatten(self, position: Grid) -> Numbers:
        at = self.rules.ply(position)
        return self._row(position, at % 2, at, position.cells)

    def position(self, game: int) -> Grid:
        return Grid(tuple(self._states[game, CELLS:].tolist()))

    def observe(self, games: Numbers, seats: Numbers, vectors: Vectors, masks: Masks) -> None:
        _write_grid_observations(self._states, games, seats, vectors, masks)

    def _step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int:
        return int(_play_marks(self._lines, self._states, games, actions, rewards, ended))


@compiled
def _end_game(state: Any, winner: int, rewards: Any, ended: Any) -> None:
    """End a game of two seats. The winner is rewarded with 1, the loser with −1; a `winner` of −1 means a draw."""
    state[OVER] = 1
    ended[0] = ended[1] = 1
    if winner >= 0:
        rewards[winner] += 1.0
        rewards[1 - winner] -= 1.0


@entry
def _write_heap_observations(
    moves: Any, sizes: Any, states: Any, games: Any, seats: Any, vectors: Any, masks: Any
) -> None:
    for i in range(len(games)):
        state, vector, mask = states[games[i]], vectors[i], masks[i]
        vector[:] = 0
        first = 0
        for heap in range(len(sizes)):
            vector[first + state[CELLS + heap]] = 1
            first += sizes[heap] + 1
        moving = state[TURN] == seats[i] and not state[OVER]
        vector[first] = moving
        mask[:] = 0
        if moving:
            for action in range(moves.shape[1]):
                mask[action] = moves[1, action] <= state[CELLS + moves[0, action]]


@entry
def _play_takes(
    moves: Any, least: int, misere: int, states: Any, games: Any, actions: Any, rewards: Any, ended: Any
) -> int:
    for i in range(len(games)):
        action = actions[i]
        if not 0 <= action < moves.shape[1] or moves[1, action] > states[games[i], CELLS + moves[0, action]]:
            return i
    for i in range(len(games)):
        state, action = states[games[i]], actions[i]
        state[CELLS + moves[0, action]] -= moves[1, action]
        seat = state[TURN]
        state[TURN] = 1 - seat
        state[PLY] += 1
        stuck = 1
        for heap in range(CELLS, len(state)):
            if state[heap] >= least:
                stuck = 0
                break
        if stuck:
            _end_game(state, 1 - seat if misere else seat, rewards[games[i]], ended[games[i]])
    return -1


@entry
def _write_grid_observations(states: Any, games: Any, seats: Any, vectors: Any, masks: Any) -> None:
    for i in range(len(games)):
        state, vector, mask = states[games[i]], vectors[i], masks[i]
        own, other = seats[i] + 1, 2 - seats[i]
        moving = state[TURN] == seats[i] and not state[OVER]
        for cell in range(9):
            held = state[CELLS + cell]
            vector[cell], vector[9 + cell], vector[18 + cell] = held == own, held == other, held == 0
            mask[cell] = moving and held == 0


@entry
def _play_marks(lines: Any, states: Any, games: Any, actions: Any, rewards: Any, ended: Any) -> int:
    for i in range(len(games)):
        if not 0 <= actions[i] < 9 or states[games[i], CELLS + actions[i]]:
            return i
    for i in range(len(games)):
        state = states[games[i]]
        seat = state[TURN]
        state[CELLS + actions[i]] = seat + 1
        state[TURN] = 1 - seat
        state[PLY] += 1
        won = 0
        for line in range(len(lines)):
            held = 0
            for cell in range(3):
                held += state[CELLS + lines[line, cell]] == seat + 1
            if held == 3:
                won = 1
        if won or state[PLY] == 9:
            _end_game(state, seat if won else -1, rewards[games[i]], ended[games[i]])
    return -1
