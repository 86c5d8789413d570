"""Batches of campaigns, on the array `field` of playouts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bots.environments.batched.batch import Masks, Numbers, RowBatch, Vectors
from bots.environments.risk import CampaignEncoding
from bots.search.risk.campaign_board import ATTACKS, BORDERS, MOVES, ROUNDS, SEATS, SOURCES, campaign_board
from bots.search.risk.draft_rule import share_out
from bots.search.risk.field import (
    ACTIVE,
    BLOCK_WIDTH,
    DRAFTING,
    HELD,
    IN,
    LEFT,
    OVER,
    POSITION,
    ROUND,
    TURN,
    UNITS,
    attack,
    end_turn,
    field_of,
    place,
)
from bots.search.risk.flat_position import ROWS, TERRITORIES, WIDTH, cell
from machine.compiled import compiled, entry, floats, ints
from machine.generator import FIRST
from measuring.value_function import NoLuck
from protocol.games.base import Game
from protocol.games.risk.campaign import MOST_PLAYERS, Campaign, Position

AT, GONE, BEYOND = 0, 1, 1 + MOST_PLAYERS
"""Slots behind the field: the ply, then by seat how many seats were eliminated before it."""


class CampaignBatch(RowBatch[Position]):
    """Draft-and-attack Risk. The logarithms in vectors come from a table."""

    columns = (TURN, OVER)

    def __init__(self, rules: Game[Position, Any], count: int, luck: str = NoLuck.name) -> None:
        assert isinstance(rules, Campaign)
        self._behind = cell(len(rules.map)) + BLOCK_WIDTH * len(rules.map.continents)
        super().__init__(rules, count, luck, width=self._behind + BEYOND)
        assert isinstance(self.encoding, CampaignEncoding)
        self._rules = rules
        self._board = ints(campaign_board(rules))
        self._shares = self.encoding.shares
        self._room, self._pressure = ints([0] * (2 * len(rules.map))), floats([0.0] * len(rules.map))

    @property
    def generators(self) -> Numbers:
        return self._states[:, FIRST:POSITION]

    def _flat(self, position: Position) -> Numbers:
        gone = [0] * MOST_PLAYERS
        for before, seat in enumerate(position.out):
            gone[seat] = before
        return np.array([*field_of(self._rules, position, 0), position.at, *gone], np.int64)

    def _place(self, games: Numbers, flat: Numbers) -> None:
        self._states[games, POSITION:] = flat[POSITION:]

    def position(self, game: int) -> Position:
        state = self._states[game].tolist()
        cells, gone = slice(ROWS, cell(len(self._rules.map)), WIDTH), self._behind + GONE
        out = sorted((seat for seat in range(self._rules.seats) if not state[IN + seat]), key=lambda s: state[gone + s])
        return Position(
            owner=tuple(state[cells]),
            troops=tuple(state[ROWS + 1 : cells.stop : WIDTH]),
            phase="draft" if state[DRAFTING] else "attack",
            units=state[UNITS],
            attacks_left=state[LEFT],
            round=state[ROUND],
            out=tuple(out),
            seat=state[TURN],
            at=state[self._behind + AT],
        )

    def observe(self, games: Numbers, seats: Numbers, vectors: Vectors, masks: Masks) -> None:
        _see(self._board, self._shares, self._states, games, seats, vectors, masks)

    def _step(self, games: Numbers, actions: Numbers, rewards: NDArray[np.float64], ended: NDArray[np.int8]) -> int:
        room = self._room, self._pressure, self._behind
        return int(_act(self._board, *room, self._states, games, actions, rewards, ended))


@compiled
def legal(board: Any, field: Any, action: int) -> bool:
    count, seat = board[TERRITORIES], field[TURN]
    if action < 0 or action > 1 + count + board[MOVES]:
        return False
    if action <= count:
        return field[DRAFTING] == 1 and (action == 0 or field[ROWS + WIDTH * (action - 1)] == seat)
    if field[DRAFTING]:
        return False
    border = action - count - 1
    if border == board[MOVES]:
        return True
    source, to = board[board[SOURCES] + border], board[board[BORDERS] + border]
    return field[source] == seat and field[source + 1] > 1 and field[to] != seat  # type: ignore[no-any-return]


@compiled
def _mark(board: Any, field: Any, mask: Any) -> None:
    count, seat = board[TERRITORIES], field[TURN]
    if field[DRAFTING]:
        mask[0] = 1
        for k in range(count):
            mask[1 + k] = field[ROWS + WIDTH * k] == seat
        return
    action = 1 + count
    for at in range(ROWS, ROWS + WIDTH * count, WIDTH):
        able = field[at] == seat and field[at + 1] > 1
        for border in range(board[at], board[at + 1]):
            mask[action] = able and field[board[border]] != seat
            action += 1
    mask[action] = 1


@entry
def _see(board: Any, shares: Any, states: Any, games: Any, seats: Any, vectors: Any, masks: Any) -> None:
    count, players = board[TERRITORIES], board[SEATS]
    width = 2 * count + 2
    rest = players * width
    for i in range(len(games)):
        field, vector, mask = states[games[i]], vectors[i], masks[i]
        vector[:] = 0
        for k in range(count):
            at = ROWS + WIDTH * k
            begin = (field[at] - seats[i]) % players * width
            vector[begin + k] = 1
            vector[begin + count + k] = shares[field[at + 1]]
        going_on = not field[OVER]
        for k in range(players):
            seat = (seats[i] + k) % players
            begin = k * width + 2 * count
            vector[begin] = going_on and field[TURN] == seat
            vector[begin + 1] = not field[IN + seat]
        vector[rest] = field[DRAFTING]
        vector[rest + 1] = shares[field[UNITS]]
        vector[rest + 2] = field[LEFT] / board[ATTACKS]
        vector[rest + 3] = min(field[ROUND], board[ROUNDS]) / board[ROUNDS]
        mask[:] = 0
        if going_on and field[TURN] == seats[i]:
            _mark(board, field, mask)


@compiled
def _draft(board: Any, field: Any, room: Any, pressure: Any) -> None:
    kept = share_out(board, field, room, 0, pressure, field[TURN], field[UNITS])
    for i in range(kept):
        place(field, room[i], room[board[TERRITORIES] + i])


@compiled
def _settle(board: Any, field: Any, rewards: Any, ended: Any) -> None:
    """Reward the seats that are left in a finished game, ranked by territories, then units."""
    players = board[SEATS]
    for seat in range(players):
        if not field[IN + seat]:
            continue
        behind = 0.0
        for other in range(players):
            if other == seat:
                continue
            if not field[IN + other] or field[HELD + other] < field[HELD + seat]:
                behind += 1.0
            elif field[HELD + other] == field[HELD + seat]:
                ahead = 0
                for at in range(ROWS, ROWS + WIDTH * board[TERRITORIES], WIDTH):
                    if field[at] == seat:
                        ahead += field[at + 1]
                    elif field[at] == other:
                        ahead -= field[at + 1]
                behind += 1.0 if ahead > 0 else 0.5 if ahead == 0 else 0.0
        rewards[seat] += 2.0 * behind / (players - 1) - 1.0
        ended[seat] = 1


@entry
def _act(
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
        if not legal(board, states[games[i]], actions[i]):
            return i
    count, players = board[TERRITORIES], board[SEATS]
    for i in range(len(games)):
        game, action = games[i], actions[i]
        field = states[game]
        field[behind + AT] += 1
        if action == 0:
            _draft(board, field, room, pressure)
        elif action <= count:
            place(field, ROWS + WIDTH * (action - 1), field[UNITS])
        elif action == 1 + count + board[MOVES]:
            end_turn(board, field)
        else:
            border = action - count - 1
            source, to = board[board[SOURCES] + border], board[board[BORDERS] + border]
            loser = field[to]
            gone = players - field[ACTIVE]
            was_in = field[IN + loser]
            attack(board, field, source, to, field[source + 1] - 1)
            if was_in and not field[IN + loser]:
                field[behind + GONE + loser] = gone
                rewards[game, loser] += 2.0 * gone / (players - 1) - 1.0
                ended[game, loser] = 1
        if field[OVER]:
            _settle(board, field, rewards[game], ended[game])
    return -1
