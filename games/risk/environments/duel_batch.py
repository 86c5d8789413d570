"""Batches of games of bounded Risk that are played at once for learning, on the arrays of
games/risk/search/flat_position.py.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bots.environments.batched.batch import ArrayBatch, Masks, Numbers, ThrowCounts, Vectors
from bots.evaluation.base import EQUAL_WEIGHTS
from games.risk.environments.reference_dice import ScriptedDice
from games.risk.evaluation import FEATURES_BOUND
from games.risk.exact.file import MappedValues
from games.risk.exact.table import cached_table, solve
from games.risk.measuring import value_functions
from games.risk.rules.board import Board
from games.risk.rules.duel import NO_OWNER, Duel, Position
from games.risk.search.flat_duel import (
    FAILURE_PROBABILITY,
    MAX_PLIES,
    MAX_TROOPS,
    SUCCESS_PROBABILITY,
    duel_board,
    play_move,
)
from games.risk.search.flat_position import (
    BORDER_COUNT,
    BORDERS,
    CELL_LENGTH,
    CELLS_END,
    FEATURES,
    FIRST_CELL,
    FIRST_OWN_SLOT,
    FREE_COUNT,
    NO_EVALUATION,
    OVER,
    TERRITORIES_OF_SEAT,
    TERRITORY_COUNT,
    TURN,
    evaluate_change,
    make_state,
    scale_values,
    set_cell,
)
from machine.compiled import compiled, entry, floats, ints
from measuring.value_function import NoLuck
from protocol.dice import Dice
from protocol.games.base import Game

PLY = FIRST_OWN_SLOT
"""The index of the ply in the flat position of a batch."""
NO_LUCK, FEATURES_LUCK, TABLE_LUCK = range(3)
"""These are the ways to measure luck: NO_LUCK not at all, FEATURES_LUCK by features of the position, TABLE_LUCK by the
table of exact values."""
LUCK_MODES = {
    NoLuck.name: NO_LUCK,
    value_functions.PLAIN_FEATURES_NAME: FEATURES_LUCK,
    value_functions.EXACT_NAME: TABLE_LUCK,
}
"""The modes of measuring luck. A key is the name of the value function that the mode uses."""
_FEATURE_WEIGHT = 1 / 4
"""The factor that turns a seat's evaluation by features, from −1 to 1, into points. A position's value in points is the
difference of both seats' points, as in `games.risk.measuring`.
"""


class DuelBatch(ArrayBatch[Position]):
    """A batch of games of bounded Risk. Its arrays hold positions as seat 0 sees them. If luck is measured by features,
    further arrays hold them as seat 1 does.
    """

    luck_value_functions: ClassVar[tuple[str, ...]] = tuple(LUCK_MODES)

    def __init__(self, rules: Game[Position, Any], count: int, luck: str = NoLuck.name) -> None:
        assert isinstance(rules, Duel)
        super().__init__(rules, count, luck)
        values = duel_board(rules)
        self._board = ints(values)
        self._scale = floats(scale_values(rules.map, EQUAL_WEIGHTS, _FEATURE_WEIGHT / FEATURES_BOUND))
        self._mode = LUCK_MODES[luck]
        self._seen = FEATURES if self._mode == FEATURES_LUCK else NO_EVALUATION
        self._states = np.zeros((2, count, values[BORDERS]), np.int64)
        worths, weights = _load_values(rules.map, rules.max_troops) if self._mode == TABLE_LUCK else ((), ())
        self._values, self._weights = np.array(worths, np.float64), np.array(weights, np.int64)

    @property
    def turn(self) -> Numbers:
        return self._states[0, :, TURN]

    @property
    def over(self) -> Numbers:
        return self._states[0, :, OVER]

    def _flatten(self, position: Position) -> Numbers:
        states = [make_state(self._board, position, seat, self._seen) for seat in range(2)]
        for state in states:
            state[TURN], state[OVER], state[PLY] = position.seat, self.rules.to_move(position) is None, position.at
        return np.array(states, np.int64)

    def _set_states(self, games: Numbers, flat: Numbers) -> None:
        self._states[:, games] = flat[:, None]

    def reference_dice(self, position: Position, move: Any, generator: Any, throw_counts: ThrowCounts) -> Dice:
        return ScriptedDice(generator, 1, 1, throw_counts)

    def position(self, game: int) -> Position:
        state = self._states[0, game].tolist()
        cells = state[FIRST_CELL : self._board[CELLS_END]]
        return Position(tuple(cells[::CELL_LENGTH]), tuple(cells[1::CELL_LENGTH]), state[TURN], state[PLY])

    def observe(self, games: Numbers, seats: Numbers, vectors: Vectors, masks: Masks) -> None:
        _write_observations(self._board, self._states[0], games, seats, vectors, masks)

    def _step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int:
        measured = self._scale, self._values, self._weights, self._mode
        states = self._states[0], self._states[1], self.generators
        return int(_play_actions(self._board, *measured, *states, games, actions, rewards, ended))


@lru_cache(maxsize=4)
def _load_values(board: Board, max_troops: int) -> tuple[Any, list[int]]:
    """Return the exact values of a map, in the form of `Table.arrays`. A stored table is memory-mapped, which compiled
    loops cannot read, so the map is solved again in memory.
    """
    table = cached_table(board, max_troops)
    return (solve(board, max_troops) if isinstance(table.values, MappedValues) else table).arrays()


@compiled
def is_legal(board: Any, state: Any, action: int) -> bool:
    count, seat = board[TERRITORY_COUNT], state[TURN]
    if action < 0 or action >= 2 * count + board[BORDER_COUNT]:
        return False
    if action < count:
        return state[FIRST_CELL + CELL_LENGTH * action] == NO_OWNER  # type: ignore[no-any-return]
    if state[FREE_COUNT]:
        return False
    if action < 2 * count:
        at = FIRST_CELL + CELL_LENGTH * (action - count)
        return state[at] == seat and state[at + 1] < board[MAX_TROOPS]  # type: ignore[no-any-return]
    border = board[BORDERS] + action - 2 * count
    source, to = board[border + board[BORDER_COUNT]], board[border]
    return state[source] == seat and state[to] != seat and state[source + 1] >= state[to + 1]  # type: ignore[no-any-return]


@compiled
def _write_mask(board: Any, state: Any, mask: Any) -> None:
    count, seat = board[TERRITORY_COUNT], state[TURN]
    if state[FREE_COUNT]:
        for k in range(count):
            mask[k] = state[FIRST_CELL + CELL_LENGTH * k] == NO_OWNER
        return
    action = 2 * count
    for k in range(count):
        at = FIRST_CELL + CELL_LENGTH * k
        own, troops = state[at] == seat, state[at + 1]
        mask[count + k] = own and troops < board[MAX_TROOPS]
        for border in range(board[at], board[at + 1]):
            to = board[border]
            mask[action] = own and state[to] != seat and troops >= state[to + 1]
            action += 1


@entry
def _write_observations(board: Any, states: Any, games: Any, seats: Any, vectors: Any, masks: Any) -> None:
    count = board[TERRITORY_COUNT]
    for i in range(len(games)):
        state, vector, mask = states[games[i]], vectors[i], masks[i]
        seat = seats[i]
        for k in range(count):
            holder = state[FIRST_CELL + CELL_LENGTH * k]
            troops = state[FIRST_CELL + CELL_LENGTH * k + 1] / board[MAX_TROOPS]
            own, other = holder == seat, holder == 1 - seat
            vector[k], vector[count + k] = own, other
            vector[2 * count + k], vector[3 * count + k] = own * troops, other * troops
        moving = state[TURN] == seat and not state[OVER]
        vector[4 * count], vector[4 * count + 1] = state[PLY] / board[MAX_PLIES], moving
        mask[:] = 0
        if moving:
            _write_mask(board, state, mask)


@compiled
def _value_after(
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
    """Return the value for seat 0, in points, of the position after a territory gets this owner and these troops. `at`
    is where the territory begins in the position's array.
    """
    if mode == FEATURES_LUCK:
        return evaluate_change(board, first, scale, at, owner, troops) - evaluate_change(
            board, second, scale, at, owner, troops
        )
    following, number = 1 - first[TURN], 0
    for k in range(board[TERRITORY_COUNT]):
        here = FIRST_CELL + CELL_LENGTH * k
        holder = owner if here == at else first[here]
        digit = troops if here == at else first[here + 1]
        if holder == 1 - following:
            digit += board[MAX_TROOPS]
        number += digit * weights[k]
    return (0.5 - following) * worths[number]  # type: ignore[no-any-return]


@entry
def _play_actions(
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
        if not is_legal(board, firsts[games[i]], actions[i]):
            return i
    count = board[TERRITORY_COUNT]
    for i in range(len(games)):
        game, action = games[i], actions[i]
        first, second = firsts[game], seconds[game]
        seat = first[TURN]
        changed = FIRST_CELL + CELL_LENGTH * (action % count)
        move, lucky = changed, 0.0
        if action >= 2 * count:
            move = board[BORDERS] + action - 2 * count
            source, to = board[move + board[BORDER_COUNT]], board[move]
            rest = first[source + 1] - first[to + 1]
            taken = repelled = 0.0
            if mode != NO_LUCK:
                left = seat if rest else NO_OWNER
                taken = _value_after(board, scale, worths, weights, mode, first, second, to, seat, 1)
                repelled = _value_after(board, scale, worths, weights, mode, first, second, source, left, rest)
            won = play_move(board, first, generators[game], seat, move)
            changed = to if won else source
            lucky = (taken if won else repelled) - (SUCCESS_PROBABILITY * taken + FAILURE_PROBABILITY * repelled)
        else:
            play_move(board, first, generators[game], seat, move)
        if mode == FEATURES_LUCK:
            set_cell(board, second, changed, first[changed], first[changed + 1])
        rewards[game, 0] -= 2.0 * lucky
        rewards[game, 1] += 2.0 * lucky
        first[TURN] = second[TURN] = 1 - seat
        first[PLY] += 1
        owned = first[TERRITORIES_OF_SEAT + seat] == count
        if owned or first[PLY] >= board[MAX_PLIES]:
            first[OVER] = 1
            ended[game, 0] = ended[game, 1] = 1
            if owned:
                rewards[game, seat] += 1.0
                rewards[game, 1 - seat] -= 1.0
    return -1
