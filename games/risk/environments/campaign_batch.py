"""Batches of campaigns that are played at once for learning, on the array `field` of games/risk/search/field.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bots.environments.batched.batch import Masks, Numbers, RowBatch, ThrowCounts, Vectors
from games.risk.environments.encoding import CampaignEncoding
from games.risk.environments.reference_dice import ScriptedDice
from games.risk.rules.campaign import MAX_PLAYERS, Attack, Campaign, Position
from games.risk.search.campaign_board import ATTACKS, BORDER_COUNT, BORDERS, ROUNDS, SEATS, SOURCES, campaign_board
from games.risk.search.draft_rule import share_units
from games.risk.search.field import (
    ACTIVE,
    ATTACKS_LEFT,
    BLOCK_WIDTH,
    DRAFTING,
    IS_IN_GAME,
    OVER,
    POSITION_BEGIN,
    ROUND,
    TERRITORIES_OF_SEAT,
    TURN,
    UNITS,
    attack,
    end_turn,
    make_field,
    place_units,
)
from games.risk.search.flat_position import CELL_LENGTH, FIRST_CELL, TERRITORY_COUNT, cell_of
from machine.compiled import compiled, entry, floats, ints
from machine.generator import FIRST_SLOT
from measuring.value_function import NoLuck
from protocol.dice import Dice
from protocol.games.base import Game

PLY_SLOT, ELIMINATED_BEFORE_SLOT, EXTRA_SLOTS = 0, 1, 1 + MAX_PLAYERS
"""These describe the extra numbers of a game in a batch. They follow the game's array `field` in the same row.

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
        self._extra_begin = cell_of(len(rules.map)) + BLOCK_WIDTH * len(rules.map.continents)
        super().__init__(rules, count, luck, width=self._extra_begin + EXTRA_SLOTS)
        assert isinstance(self.encoding, CampaignEncoding)
        self._rules = rules
        self._board = ints(campaign_board(rules))
        self._shares = self.encoding.log_shares
        self._placements, self._pressure = ints([0] * (2 * len(rules.map))), floats([0.0] * len(rules.map))

    @property
    def generators(self) -> Numbers:
        return self._states[:, FIRST_SLOT:POSITION_BEGIN]

    def _flatten(self, position: Position) -> Numbers:
        gone = [0] * MAX_PLAYERS
        for before, seat in enumerate(position.out):
            gone[seat] = before
        return np.array([*make_field(self._rules, position, 0), position.at, *gone], np.int64)

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
            units=state[UNITS],
            attacks_left=state[ATTACKS_LEFT],
            round=state[ROUND],
            out=tuple(out),
            seat=state[TURN],
            at=state[self._extra_begin + PLY_SLOT],
        )

    def observe(self, games: Numbers, seats: Numbers, vectors: Vectors, masks: Masks) -> None:
        _write_observations(self._board, self._shares, self._states, games, seats, vectors, masks)

    def _step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int:
        room = self._placements, self._pressure, self._extra_begin
        return int(_play_actions(self._board, *room, self._states, games, actions, rewards, ended))


@compiled
def is_legal(board: Any, field: Any, action: int) -> bool:
    count, seat = board[TERRITORY_COUNT], field[TURN]
    if action < 0 or action > 1 + count + board[BORDER_COUNT]:
        return False
    if action <= count:
        return field[DRAFTING] == 1 and (action == 0 or field[FIRST_CELL + CELL_LENGTH * (action - 1)] == seat)
    if field[DRAFTING]:
        return False
    border = action - count - 1
    if border == board[BORDER_COUNT]:
        return True
    source, to = board[board[SOURCES] + border], board[board[BORDERS] + border]
    return field[source] == seat and field[source + 1] > 1 and field[to] != seat  # type: ignore[no-any-return]


@compiled
def _write_mask(board: Any, field: Any, mask: Any) -> None:
    count, seat = board[TERRITORY_COUNT], field[TURN]
    if field[DRAFTING]:
        mask[0] = 1
        for k in range(count):
            mask[1 + k] = field[FIRST_CELL + CELL_LENGTH * k] == seat
        return
    action = 1 + count
    for at in range(FIRST_CELL, FIRST_CELL + CELL_LENGTH * count, CELL_LENGTH):
        able = field[at] == seat and field[at + 1] > 1
        for border in range(board[at], board[at + 1]):
            mask[action] = able and field[board[border]] != seat
            action += 1
    mask[action] = 1


@entry
def _write_observations(board: Any, shares: Any, states: Any, games: Any, seats: Any, vectors: Any, masks: Any) -> None:
    count, players = board[TERRITORY_COUNT], board[SEATS]
    width = 2 * count + 2
    rest = players * width
    for i in range(len(games)):
        field, vector, mask = states[games[i]], vectors[i], masks[i]
        vector[:] = 0
        for k in range(count):
            at = FIRST_CELL + CELL_LENGTH * k
            begin = (field[at] - seats[i]) % players * width
            vector[begin + k] = 1
            vector[begin + count + k] = shares[field[at + 1]]
        going_on = not field[OVER]
        for k in range(players):
            seat = (seats[i] + k) % players
            begin = k * width + 2 * count
            vector[begin] = going_on and field[TURN] == seat
            vector[begin + 1] = not field[IS_IN_GAME + seat]
        vector[rest] = field[DRAFTING]
        vector[rest + 1] = shares[field[UNITS]]
        vector[rest + 2] = field[ATTACKS_LEFT] / board[ATTACKS]
        vector[rest + 3] = min(field[ROUND], board[ROUNDS]) / board[ROUNDS]
        mask[:] = 0
        if going_on and field[TURN] == seats[i]:
            _write_mask(board, field, mask)


@compiled
def _draft(board: Any, field: Any, room: Any, pressure: Any) -> None:
    kept = share_units(board, field, room, 0, pressure, field[TURN], field[UNITS])
    for i in range(kept):
        place_units(field, room[i], room[board[TERRITORY_COUNT] + i])


@compiled
def _reward_survivors(board: Any, field: Any, rewards: Any, ended: Any) -> None:
    """Reward the surviving seats of a finished game. A seat with more territories ranks higher; troops break ties."""
    players = board[SEATS]
    for seat in range(players):
        if not field[IS_IN_GAME + seat]:
            continue
        behind = 0.0
        for other in range(players):
            if other == seat:
                continue
            if not field[IS_IN_GAME + other] or field[TERRITORIES_OF_SEAT + other] < field[TERRITORIES_OF_SEAT + seat]:
                behind += 1.0
            elif field[TERRITORIES_OF_SEAT + other] == field[TERRITORIES_OF_SEAT + seat]:
                ahead = 0
                for at in range(FIRST_CELL, FIRST_CELL + CELL_LENGTH * board[TERRITORY_COUNT], CELL_LENGTH):
                    if field[at] == seat:
                        ahead += field[at + 1]
                    elif field[at] == other:
                        ahead -= field[at + 1]
                behind += 1.0 if ahead > 0 else 0.5 if ahead == 0 else 0.0
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
        field = states[game]
        field[behind + PLY_SLOT] += 1
        if action == 0:
            _draft(board, field, room, pressure)
        elif action <= count:
            place_units(field, FIRST_CELL + CELL_LENGTH * (action - 1), field[UNITS])
        elif action == 1 + count + board[BORDER_COUNT]:
            end_turn(board, field)
        else:
            border = action - count - 1
            source, to = board[board[SOURCES] + border], board[board[BORDERS] + border]
            loser = field[to]
            gone = players - field[ACTIVE]
            was_in = field[IS_IN_GAME + loser]
            attack(board, field, source, to, field[source + 1] - 1)
            if was_in and not field[IS_IN_GAME + loser]:
                field[behind + ELIMINATED_BEFORE_SLOT + loser] = gone
                rewards[game, loser] += 2.0 * gone / (players - 1) - 1.0
                ended[game, loser] = 1
        if field[OVER]:
            _reward_survivors(board, field, rewards[game], ended[game])
    return -1
