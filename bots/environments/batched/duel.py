"""Batches of bounded Risk, on the flat positions of the searches."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bots.environments.batched.batch import Batch, Masks, Numbers, Vectors
from bots.evaluation.base import EQUAL
from bots.evaluation.risk import WITHIN
from bots.search.risk.duel_search import BORDERS, MAX_PLIES, MAX_TROOPS, REPELLED, SOURCES, TAKEN, duel_board
from bots.search.risk.duel_uct import play
from bots.search.risk.flat_position import (
    ARMY,
    EMPTY,
    FEATURES,
    NONE,
    OWNED,
    ROWS,
    TERRITORIES,
    WIDTH,
    cell,
    peek,
    put,
    scale_values,
    state_of,
)
from machine.compiled import compiled, entry, floats, ints
from machine.exact.duel import solve, table_of
from machine.exact.duel_file import MappedValues
from measuring.risk import value_functions
from measuring.value_function import NoLuck
from protocol.games.base import Game
from protocol.games.risk.board import Board
from protocol.games.risk.campaign import MOST_PLAYERS
from protocol.games.risk.duel import FREE, Duel, Position

TURN, OVER, AT = range(ARMY + MOST_PLAYERS, ARMY + MOST_PLAYERS + 3)
"""Slots in the header of a flat position, behind those of the searches: the seat to move, whether the game is over, and
the ply."""
BY_NOTHING, BY_FEATURES, BY_TABLE = range(3)
MODES = {NoLuck.name: BY_NOTHING, value_functions.FEATURES: BY_FEATURES, value_functions.EXACT: BY_TABLE}
"""Modes of measuring luck, by the name of the value function."""
_A_SEAT = 1 / 4
"""The weight of a seat's mean of features, in points: half of the difference between the seats' means is a value in
points (`measuring.risk`)."""


class DuelBatch(Batch[Position]):
    """Bounded Risk. States are seen from seat 0, and also from seat 1 if luck is measured by features."""

    values: ClassVar[tuple[str, ...]] = tuple(MODES)

    def __init__(self, rules: Game[Position, Any], count: int, luck: str = NoLuck.name) -> None:
        assert isinstance(rules, Duel)
        super().__init__(rules, count, luck)
        values = duel_board(rules)
        self._board = ints(values)
        self._scale = floats(scale_values(rules.map, EQUAL, _A_SEAT / WITHIN))
        self._mode = MODES[luck]
        self._seen = FEATURES if self._mode == BY_FEATURES else NONE
        self._states = np.zeros((2, count, cell(len(rules.map))), np.int64)
        worths, weights = _values_of(rules.map, rules.max_troops) if self._mode == BY_TABLE else ((), ())
        self._worths, self._weights = np.array(worths, np.float64), np.array(weights, np.int64)

    @property
    def turn(self) -> Numbers:
        return self._states[0, :, TURN]

    @property
    def over(self) -> Numbers:
        return self._states[0, :, OVER]

    def _flat(self, position: Position) -> Numbers:
        states = [state_of(self._board, position, seat, self._seen) for seat in range(2)]
        for state in states:
            state[TURN], state[OVER], state[AT] = position.seat, self.rules.to_move(position) is None, position.at
        return np.array(states, np.int64)

    def _place(self, games: Numbers, flat: Numbers) -> None:
        self._states[:, games] = flat[:, None]

    def position(self, game: int) -> Position:
        state = self._states[0, game].tolist()
        return Position(tuple(state[ROWS::WIDTH]), tuple(state[ROWS + 1 :: WIDTH]), state[TURN], state[AT])

    def observe(self, games: Numbers, seats: Numbers, vectors: Vectors, masks: Masks) -> None:
        _see(self._board, self._states[0], games, seats, vectors, masks)

    def _step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int:
        measured = self._scale, self._worths, self._weights, self._mode
        states = self._states[0], self._states[1], self.generators
        return int(_act(self._board, *measured, *states, games, actions, rewards, ended))


@lru_cache(maxsize=4)
def _values_of(board: Board, max_troops: int) -> tuple[Any, list[int]]:
    """Return what `Table.flat` returns. A table that `arena-bot solve` has stored is memory-mapped, which compiled
    loops cannot read, so it is solved again in memory.
    """
    table = table_of(board, max_troops)
    return (solve(board, max_troops) if isinstance(table.values, MappedValues) else table).flat()


@compiled
def legal(board: Any, state: Any, action: int) -> bool:
    count, seat = board[TERRITORIES], state[TURN]
    if action < 0 or action >= 2 * count + board[SOURCES]:
        return False
    if action < count:
        return state[ROWS + WIDTH * action] == FREE  # type: ignore[no-any-return]
    if state[EMPTY]:
        return False
    if action < 2 * count:
        at = ROWS + WIDTH * (action - count)
        return state[at] == seat and state[at + 1] < board[MAX_TROOPS]  # type: ignore[no-any-return]
    border = board[BORDERS] + action - 2 * count
    source, to = board[border + board[SOURCES]], board[border]
    return state[source] == seat and state[to] != seat and state[source + 1] >= state[to + 1]  # type: ignore[no-any-return]


@compiled
def _mark(board: Any, state: Any, mask: Any) -> None:
    count, seat = board[TERRITORIES], state[TURN]
    if state[EMPTY]:
        for k in range(count):
            mask[k] = state[ROWS + WIDTH * k] == FREE
        return
    action = 2 * count
    for k in range(count):
        at = ROWS + WIDTH * k
        own, troops = state[at] == seat, state[at + 1]
        mask[count + k] = own and troops < board[MAX_TROOPS]
        for border in range(board[at], board[at + 1]):
            to = board[border]
            mask[action] = own and state[to] != seat and troops >= state[to + 1]
            action += 1


@entry
def _see(board: Any, states: Any, games: Any, seats: Any, vectors: Any, masks: Any) -> None:
    count = board[TERRITORIES]
    for i in range(len(games)):
        state, vector, mask = states[games[i]], vectors[i], masks[i]
        seat = seats[i]
        for k in range(count):
            holder = state[ROWS + WIDTH * k]
            troops = state[ROWS + WIDTH * k + 1] / board[MAX_TROOPS]
            own, other = holder == seat, holder == 1 - seat
            vector[k], vector[count + k] = own, other
            vector[2 * count + k], vector[3 * count + k] = own * troops, other * troops
        moving = state[TURN] == seat and not state[OVER]
        vector[4 * count], vector[4 * count + 1] = state[AT] / board[MAX_PLIES], moving
        mask[:] = 0
        if moving:
            _mark(board, state, mask)


@compiled
def _worth(
    board: Any,
    scale: Any,
    worths: Any,
    weights: Any,
    mode: int,
    first: Any,
    second: Any,
    at: int,
    owner: int,
    troops: int,
) -> float:
    """Return the value to seat 0, in points, of the position in which a cell has this owner and these troops."""
    if mode == BY_FEATURES:
        return peek(board, first, scale, at, owner, troops) - peek(board, second, scale, at, owner, troops)
    following, number = 1 - first[TURN], 0
    for k in range(board[TERRITORIES]):
        here = ROWS + WIDTH * k
        holder = owner if here == at else first[here]
        digit = troops if here == at else first[here + 1]
        if holder == 1 - following:
            digit += board[MAX_TROOPS]
        number += digit * weights[k]
    return (0.5 - following) * worths[number]  # type: ignore[no-any-return]


@entry
def _act(
    board: Any,
    scale: Any,
    worths: Any,
    weights: Any,
    mode: int,
    firsts: Any,
    seconds: Any,
    generators: Any,
    games: Any,
    actions: Any,
    rewards: Any,
    ended: Any,
) -> int:
    for i in range(len(games)):
        if not legal(board, firsts[games[i]], actions[i]):
            return i
    count = board[TERRITORIES]
    for i in range(len(games)):
        game, action = games[i], actions[i]
        first, second = firsts[game], seconds[game]
        seat = first[TURN]
        changed = ROWS + WIDTH * (action % count)
        move, lucky = changed, 0.0
        if action >= 2 * count:
            move = board[BORDERS] + action - 2 * count
            source, to = board[move + board[SOURCES]], board[move]
            rest = first[source + 1] - first[to + 1]
            taken = repelled = 0.0
            if mode != BY_NOTHING:
                left = seat if rest else FREE
                taken = _worth(board, scale, worths, weights, mode, first, second, to, seat, 1)
                repelled = _worth(board, scale, worths, weights, mode, first, second, source, left, rest)
            won = play(board, first, generators[game], seat, move)
            changed = to if won else source
            lucky = (taken if won else repelled) - (TAKEN * taken + REPELLED * repelled)
        else:
            play(board, first, generators[game], seat, move)
        if mode == BY_FEATURES:
            put(board, second, changed, first[changed], first[changed + 1])
        rewards[game, 0] -= 2.0 * lucky
        rewards[game, 1] += 2.0 * lucky
        first[TURN] = second[TURN] = 1 - seat
        first[AT] += 1
        owned = first[OWNED + seat] == count
        if owned or first[AT] >= board[MAX_PLIES]:
            first[OVER] = 1
            ended[game, 0] = ended[game, 1] = 1
            if owned:
                rewards[game, seat] += 1.0
                rewards[game, 1 - seat] -= 1.0
    return -1
