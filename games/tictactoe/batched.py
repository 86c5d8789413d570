"""Batches of matches of tic-tac-toe that are played at once, for learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bots.environments.batched.batch import Masks, Numbers, Vectors
from bots.environments.batched.row_game import CELLS, OVER, PLY, TURN, SmallBatch, end_game
from games.tictactoe.rules import LINES, Grid
from machine.compiled import entry
from measuring.value_function import NoLuck
from protocol.games.base import Game


class GridBatch(SmallBatch):
    def __init__(self, rules: Game[Grid, int], count: int, luck: str = NoLuck.name) -> None:
        super().__init__(rules, count, luck, width=CELLS + 9)
        self._lines = np.array(LINES, np.int64)

    def _flatten(self, position: Grid) -> Numbers:
        at = self.rules.ply(position)
        return self.row(position, at % 2, at, position.cells)

    def position(self, game: int) -> Grid:
        return Grid(tuple(self._states[game, CELLS:].tolist()))

    def observe(self, games: Numbers, seats: Numbers, vectors: Vectors, masks: Masks) -> None:
        _write_grid_observations(self._states, games, seats, vectors, masks)

    def _step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int:
        return int(_play_marks(self._lines, self._states, games, actions, rewards, ended))


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
            end_game(state, seat if won else -1, rewards[games[i]], ended[games[i]])
    return -1
