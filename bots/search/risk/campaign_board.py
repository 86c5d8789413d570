"""The campaign's map and rules as a flat array, `board`, for its kernels, and the numbers of search keys."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import Any

from bots.search.risk.flat_position import TERRITORIES, board_values, cell
from bots.search.risk.work_buffers import random_numbers
from machine.compiled import compiled, ints
from protocol.games.risk.campaign import MOST_PLAYERS, Campaign

BORDERS, SOURCES, MOVES, SEATS, ATTACKS, ROUNDS, CLASSIC, DICE, CONTINENTS, HELD, SNAKE = range(4, 15)
"""The campaign's slots of `board`: [BORDERS] where the cells that borders lead to begin, [SOURCES] those that they lead
from; [MOVES] the number of borders; [ATTACKS] attacks a turn in the rules; [CLASSIC], [DICE] and [SNAKE] 0 or 1;
[CONTINENTS] where they begin, each a bonus, a count and cells, and [HELD] how many there are."""

SPAN = 64
"""Troops enter a search key in digits of this base: two, with the owner, and a third where there are that many."""
SEAT_KEYS, LEFT_KEYS, PLY_KEYS, ROUND_KEYS, TURNS = 0, 8, 32, 256, 2048
"""Where the numbers that are not a territory's begin, behind those of two digits; and how many they are. Those of third
digits follow.
"""


def campaign_board(rules: Campaign) -> list[int]:
    """`board` for the campaign, for `ints`."""
    map_ = rules.map
    values = board_values(map_)
    values[BORDERS] = cell(len(map_))
    values[MOVES] = 2 * len(map_.borders)
    values[SOURCES] = len(values)
    values += chain.from_iterable([cell(index)] * len(others) for index, others in enumerate(map_.neighbours))
    values[CONTINENTS], values[HELD] = len(values), len(map_.continents)
    for continent, members in zip(map_.continents, map_.members, strict=True):
        values += [continent.bonus, len(members), *map(cell, members)]
    values[SEATS], values[ATTACKS], values[ROUNDS] = rules.seats, rules.max_attacks, rules.max_rounds
    values[CLASSIC], values[DICE], values[SNAKE] = rules.draft == "classic", rules.battle == "dice", rules.snake
    return values


@compiled
def next_turn(board: Any, seats: Any, alive: int, seat: int, number: int) -> tuple[int, int]:
    """The seat that has its turn after `seat` in round `number`, and its round; `seats` has from `alive` on whether
    each is in the game.
    """
    step = -1 if board[SNAKE] and number % 2 == 0 else 1
    following = seat + step
    while 0 <= following < board[SEATS]:
        if seats[alive + following]:
            return following, number
        following += step
    if board[SNAKE]:
        step = -step
    following = 0 if step > 0 else board[SEATS] - 1
    while not seats[alive + following]:
        following += step
    return following, number + 1


@lru_cache(maxsize=8)
def keys_for(territories: int) -> Any:
    """Zobrist's numbers: by territory, owner and digit of its troops; then by seat, attacks left, ply and round; and by
    territory and third digit.
    """
    return ints(random_numbers(territories * MOST_PLAYERS * 2 * SPAN + TURNS + territories * SPAN))


@compiled
def key_of(board: Any, state: Any, keys: Any, at: int) -> int:
    """What a cell adds to the search key."""
    begin = (board[at + 3] * MOST_PLAYERS + state[at]) * 2 * SPAN
    troops = state[at + 1]
    key = keys[begin + troops % SPAN] ^ keys[begin + SPAN + troops // SPAN % SPAN]
    if troops < SPAN * SPAN:
        return key  # type: ignore[no-any-return]
    begin = board[TERRITORIES] * MOST_PLAYERS * 2 * SPAN + TURNS + board[at + 3] * SPAN
    return key ^ keys[begin + troops // (SPAN * SPAN) % SPAN]  # type: ignore[no-any-return]
