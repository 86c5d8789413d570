"""Batches of matches of nim that are played at once, for learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bots.environments.batched.batch import Masks, Numbers, Vectors
from bots.environments.batched.row_game import CELLS, OVER, PLY, TURN, SmallBatch, end_game
from games.nim.encoding import NimEncoding
from games.nim.rules import Nim, Position
from machine.compiled import entry
from measuring.value_function import NoLuck
from protocol.games.base import Game


class NimBatch(SmallBatch):
    """A batch of matches of nim. `_moves` has two rows: each action's heap, and the number of objects that it takes."""

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
        return self.row(position, position.seat, position.at, position.heaps)

    def position(self, game: int) -> Position:
        seat, _, at, *heaps = self._states[game].tolist()
        return Position(tuple(heaps), seat, at)

    def observe(self, games: Numbers, seats: Numbers, vectors: Vectors, masks: Masks) -> None:
        _write_heap_observations(self._moves, self._sizes, self._states, games, seats, vectors, masks)

    def _step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int:
        given = self._moves, self._least, self._misere
        return int(_play_takes(*given, self._states, games, actions, rewards, ended))


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
            end_game(state, 1 - seat if misere else seat, rewards[games[i]], ended[games[i]])
    return -1
