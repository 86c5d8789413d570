"""The campaign's map and rules as a flat array, `board`, and the random numbers of its search keys."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import Any

from bots.search.risk.flat_position import TERRITORIES, board_values, cell
from bots.search.risk.work_buffers import random_numbers
from machine.compiled import compiled, ints
from protocol.games.risk.campaign import MOST_PLAYERS, Campaign

BORDERS, SOURCES, MOVES, SEATS, ATTACKS, ROUNDS, CLASSIC, DICE, CONTINENTS, HELD, SNAKE = range(4, 15)
"""The campaign's slots of `board`. At BORDERS begins the list of the cells that borders lead to, at SOURCES that of the
cells that they lead from; MOVES is the number of borders. ATTACKS is the number of attacks a turn under the rules.
CLASSIC, DICE and SNAKE are 0 or 1. At CONTINENTS begin the continents, each as bonus, count and cells; HELD is their
number."""

SPAN = 64
"""The base of the digits in which troops enter a search key: two with the owner, a third for larger armies."""
SEAT_KEYS, LEFT_KEYS, PLY_KEYS, ROUND_KEYS, TURNS = 0, 8, 32, 256, 2048
"""Offsets of the random numbers that belong to no territory, relative to the end of those for two digits, and their
total. Those for third digits follow."""


def campaign_board(rules: Campaign) -> list[int]:
    """Return the array `board` of a campaign as a list, for `ints`."""
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
    """Return the next seat after `seat` in round `number`, and its round. `seats` has from `alive` on who is in the
    game.
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
    """Return the Zobrist numbers: by territory, owner and digit of its troops; then by seat, attacks left, ply and
    round; then by territory and third digit.
    """
    return ints(random_numbers(territories * MOST_PLAYERS * 2 * SPAN + TURNS + territories * SPAN))


@compiled
def key_of(board: Any, state: Any, keys: Any, at: int) -> int:
    """Return what one cell contributes to the search key."""
    begin = (board[at + 3] * MOST_PLAYERS + state[at]) * 2 * SPAN
    troops = state[at + 1]
    key = keys[begin + troops % SPAN] ^ keys[begin + SPAN + troops // SPAN % SPAN]
    if troops < SPAN * SPAN:
        return key  # type: ignore[no-any-return]
    begin = board[TERRITORIES] * MOST_PLAYERS * 2 * SPAN + TURNS + board[at + 3] * SPAN
    return key ^ keys[begin + troops // (SPAN * SPAN) % SPAN]  # type: ignore[no-any-return]
