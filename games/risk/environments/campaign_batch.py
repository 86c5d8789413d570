"""Batches of campaigns that are played at once for learning, on the arrays of games/risk/search/flat_campaign.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bots.environments.batched.batch import Masks, Numbers, RowBatch, ThrowCounts, Vectors
from games.risk.environments.encoding import CampaignEncoding
from games.risk.environments.reference_dice import ScriptedDice
from games.risk.rules.campaign import MAX_PLAYERS, Attack, Campaign, Position
from games.risk.search.flat_campaign import (
    ACTIVE,
    ATTACKS,
    ATTACKS_LEFT,
    DRAFTING,
    IS_IN_GAME,
    ROUND,
    ROUNDS,
    SEATS,
    UNITS_TO_PLACE,
    attack,
    campaign_board,
    end_turn,
    list_attacks,
    make_campaign_state,
    place_by_rule,
    place_units,
    standing,
)
from games.risk.search.flat_position import (
    BORDER_COUNT,
    BORDERS,
    CELL_LENGTH,
    FIRST_CELL,
    OVER,
    POSITION_BEGIN,
    TERRITORY_COUNT,
    TURN,
    cell_of,
)
from machine.compiled import compiled, entry, ints, zeros
from machine.generator import FIRST_SLOT
from measuring.value_function import NoLuck
from protocol.dice import Dice
from protocol.games.base import Game

PLY_SLOT, ELIMINATED_BEFORE_SLOT, EXTRA_SLOTS = 0, 1, 1 + MAX_PLAYERS
"""These describe the extra numbers of a game in a batch. They follow the game's array `state` in the same row.

- PLY_SLOT: the offset of the ply among the extra numbers.
- ELIMINATED_BEFORE_SLOT: the offset of a list that has, for each eliminated seat, how many seats were eliminated before
  it.
- EXTRA_SLOTS: how many extra numbers there are.
"""


class CampaignBatch(RowBatch[Position]):
    """A batch of campaigns. Its vectors contain logarithms of troops, which come from a table."""

    columns = (TURN, OVER)

    def __init__(self, rules: Game[Position, Any], count: int, luck: str = NoLuck.name) -> None:
        assert isinstance(rules, Campaign)
        values = campaign_board(rules)
        self._extra_begin = values[BORDERS]
        super().__init__(rules, count, luck, width=self._extra_begin + EXTRA_SLOTS)
        assert isinstance(self.encoding, CampaignEncoding)
        self._rules = rules
        self._board = ints(values)
        self._shares = self.encoding.log_shares
        self._scratch = zeros(2 * len(rules.map) + values[BORDER_COUNT] + 1)
        self._pressure = zeros(len(rules.map), float)

    @property
    def generators(self) -> Numbers:
        return self._states[:, FIRST_SLOT:POSITION_BEGIN]

    def _flatten(self, position: Position) -> Numbers:
        gone = [0] * MAX_PLAYERS
        for before, seat in enumerate(position.out):
            gone[seat] = before
        return np.array([*make_campaign_state(self._board, position), position.at, *gone], np.int64)

    def _set_states(self, games: Numbers, flat: Numbers) -> None:
        self._states[games, POSITION_BEGIN:] = flat[POSITION_BEGIN:]

    def reference_dice(self, position: Position, move: Any, generator: Any, throw_counts: ThrowCounts) -> Dice:
        battle = (move.units, position.troops[move.to]) if isinstance(move, Attack) else (1, 1)
        return ScriptedDice(generator, *battle, throw_counts)

    def position(self, game: int) -> Position:
        state = self._states[game].tolist()
        cells, gone = (
            slice(FIRST_CELL, cell_of(len(self._rules.map)), CELL_LENGTH),
            self._extra_begin + ELIMINATED_BEFORE_SLOT,
        )
        out = sorted(
            (seat for seat in range(self._rules.seats) if not state[IS_IN_GAME + seat]), key=lambda s: state[gone + s]
        )
        return Position(
            owner=tuple(state[cells]),
            troops=tuple(state[FIRST_CELL + 1 : cells.stop : CELL_LENGTH]),
            phase="draft" if state[DRAFTING] else "attack",
            units=state[UNITS_TO_PLACE],
            attacks_left=state[ATTACKS_LEFT],
            round=state[ROUND],
            out=tuple(out),
            seat=state[TURN],
            at=state[self._extra_begin + PLY_SLOT],
        )

    def observe(self, games: Numbers, seats: Numbers, vectors: Vectors, masks: Masks) -> None:
        _write_observations(self._board, self._scratch, self._shares, self._states, games, seats, vectors, masks)

    def _step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int:
        room = self._scratch, self._pressure, self._extra_begin
        return int(_play_actions(self._board, *room, self._states, games, actions, rewards, ended))


@compiled
def is_legal(board: Any, state: Any, action: int) -> bool:
    count, seat = board[TERRITORY_COUNT], state[TURN]
    if action < 0 or action > 1 + count + board[BORDER_COUNT]:
        return False
    if action <= count:
        return state[DRAFTING] == 1 and (action == 0 or state[FIRST_CELL + CELL_LENGTH * (action - 1)] == seat)
    if state[DRAFTING]:
        return False
    border = action - count - 1
    if border == board[BORDER_COUNT]:
        return True
    border += board[BORDERS]
    source, to = board[border + board[BORDER_COUNT]], board[border]
    return state[source] == seat and state[source + 1] > 1 and state[to] != seat  # type: ignore[no-any-return]


@compiled
def _write_mask(board: Any, state: Any, moves: Any, mask: Any) -> None:
    """Write 1 to `mask` for each legal action. `moves` is scratch space for all moves."""
    count = board[TERRITORY_COUNT]
    if state[DRAFTING]:
        mask[0] = 1
        for k in range(count):
            mask[1 + k] = state[FIRST_CELL + CELL_LENGTH * k] == state[TURN]
        return
    for i in range(list_attacks(board, state, moves, 0, 1) - 1):
        mask[1 + count + moves[i] - board[BORDERS]] = 1
    mask[1 + count + board[BORDER_COUNT]] = 1


@entry
def _write_observations(
    board: Any, moves: Any, shares: Any, states: Any, games: Any, seats: Any, vectors: Any, masks: Any
) -> None:
    count, players = board[TERRITORY_COUNT], board[SEATS]
    width = 2 * count + 2
    rest = players * width
    for i in range(len(games)):
        state, vector, mask = states[games[i]], vectors[i], masks[i]
        vector[:] = 0
        for k in range(count):
            at = FIRST_CELL + CELL_LENGTH * k
            begin = (state[at] - seats[i]) % players * width
            vector[begin + k] = 1
            vector[begin + count + k] = shares[state[at + 1]]
        going_on = not state[OVER]
        for k in range(players):
            seat = (seats[i] + k) % players
            begin = k * width + 2 * count
            vector[begin] = going_on and state[TURN] == seat
            vector[begin + 1] = not state[IS_IN_GAME + seat]
        vector[rest] = state[DRAFTING]
        vector[rest + 1] = shares[state[UNITS_TO_PLACE]]
        vector[rest + 2] = state[ATTACKS_LEFT] / board[ATTACKS]
        vector[rest + 3] = min(state[ROUND], board[ROUNDS]) / board[ROUNDS]
        mask[:] = 0
        if going_on and state[TURN] == seats[i]:
            _write_mask(board, state, moves, mask)


@compiled
def _reward_survivors(board: Any, state: Any, rewards: Any, ended: Any) -> None:
    """Reward the surviving seats of a finished game. A seat with more territories ranks higher; troops break ties."""
    players = board[SEATS]
    for seat in range(players):
        own = standing(state, seat)
        if own < 0:
            continue
        behind = -0.5
        for other in range(players):
            found = standing(state, other)
            behind += 1.0 if found < own else 0.5 if found == own else 0.0
        rewards[seat] += 2.0 * behind / (players - 1) - 1.0
        ended[seat] = 1


@entry
def _play_actions(
    board: Any,
    room: Any,
    pressure: Any,
    behind: int,
    states: Any,
    games: Any,
    actions: Any,
    rewards: Any,
    ended: Any,
) -> int:
    for i in range(len(games)):
        if not is_legal(board, states[games[i]], actions[i]):
            return i
    count, players = board[TERRITORY_COUNT], board[SEATS]
    for i in range(len(games)):
        game, action = games[i], actions[i]
        state = states[game]
        state[behind + PLY_SLOT] += 1
        if action == 0:
            place_by_rule(board, state, room, 0, pressure)
        elif action <= count:
            place_units(board, state, FIRST_CELL + CELL_LENGTH * (action - 1), state[UNITS_TO_PLACE])
        elif action == 1 + count + board[BORDER_COUNT]:
            end_turn(board, state)
        else:
            border = board[BORDERS] + action - count - 1
            source, to = board[border + board[BORDER_COUNT]], board[border]
            loser = state[to]
            gone = players - state[ACTIVE]
            was_in = state[IS_IN_GAME + loser]
            attack(board, state, source, to, state[source + 1] - 1)
            if was_in and not state[IS_IN_GAME + loser]:
                state[behind + ELIMINATED_BEFORE_SLOT + loser] = gone
                rewards[game, loser] += 2.0 * gone / (players - 1) - 1.0
                ended[game, loser] = 1
        if state[OVER]:
            _reward_survivors(board, state, rewards[game], ended[game])
    return -1
