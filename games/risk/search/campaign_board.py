"""The campaign's map and rules as a flat array, `board`, and the random numbers from which search keys are made."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import Any

from games.risk.rules.campaign import MAX_PLAYERS, Campaign
from games.risk.search.flat_position import TERRITORY_COUNT, board_values, cell_of
from games.risk.search.work_buffers import make_random_numbers
from machine.compiled import compiled, ints

BORDERS, SOURCES, BORDER_COUNT, SEATS, ATTACKS, ROUNDS, CLASSIC, DICE, CONTINENTS, CONTINENT_COUNT, SNAKE = range(4, 15)
"""These are the indices of `board` that only the campaign has:

- BORDERS: where the list of the borders' target cells begins.
- SOURCES: where the list of the borders' source cells begins, in the same order.
- BORDER_COUNT: the number of borders; each counts twice, once in each direction.
- SEATS: the number of seats.
- ATTACKS: the number of attacks allowed in a turn.
- ROUNDS: the maximum number of rounds.
- CLASSIC: 1 if the draft is classic.
- DICE: 1 if dice are rolled for battles.
- CONTINENTS: where the list of continents begins. Each has its bonus, its number of cells, and its cells.
- CONTINENT_COUNT: the number of continents.
- SNAKE: 1 if seats move in descending order in even rounds.
"""

KEY_DIGIT_BASE = 64
"""The base of the digits in which a territory's number of troops enters a search key (Zobrist hash). Each of the two
lowest digits selects a random number by territory, owner and digit. From 4,096 troops on, the third-lowest digit
selects one more, by territory and digit alone.
"""
SEAT_KEYS, ATTACKS_LEFT_KEYS, PLY_KEYS, ROUND_KEYS, TURN_KEY_COUNT = 0, 8, 32, 256, 2048
"""These are offsets in the second of the three parts of the random numbers that `make_keys` returns. The first part is
for the two lowest digits of territories' troops, the third part for their third digits.

- SEAT_KEYS, ATTACKS_LEFT_KEYS, PLY_KEYS, ROUND_KEYS: where the numbers for the seat to move, the attacks left, the ply
  and the round begin.
- TURN_KEY_COUNT: the count of the numbers in the second part.
"""


def campaign_board(rules: Campaign) -> list[int]:
    """Return the values of the array `board` of a campaign. `ints` converts this list to the array."""
    map_ = rules.map
    values = board_values(map_)
    values[BORDERS] = cell_of(len(map_))
    values[BORDER_COUNT] = 2 * len(map_.borders)
    values[SOURCES] = len(values)
    values += chain.from_iterable([cell_of(index)] * len(others) for index, others in enumerate(map_.neighbours))
    values[CONTINENTS], values[CONTINENT_COUNT] = len(values), len(map_.continents)
    for continent, members in zip(map_.continents, map_.members, strict=True):
        values += [continent.bonus, len(members), *map(cell_of, members)]
    values[SEATS], values[ATTACKS], values[ROUNDS] = rules.seats, rules.max_attacks, rules.max_rounds
    values[CLASSIC], values[DICE], values[SNAKE] = rules.draft == "classic", rules.battle == "dice", rules.snake
    return values


@compiled
def find_next_turn(board: Any, seats: Any, alive: int, seat: int, round_number: int) -> tuple[int, int]:
    """Return the next seat in the game after `seat` in round `round_number`, and the round of its turn.

    seats[alive + n] is 1 if seat n is still in the game.
    """
    step = -1 if board[SNAKE] and round_number % 2 == 0 else 1
    following = seat + step
    while 0 <= following < board[SEATS]:
        if seats[alive + following]:
            return following, round_number
        following += step
    if board[SNAKE]:
        step = -step
    following = 0 if step > 0 else board[SEATS] - 1
    while not seats[alive + following]:
        following += step
    return following, round_number + 1


@lru_cache(maxsize=8)
def make_keys(territories: int) -> Any:
    """Return the random numbers from which search keys are made (Zobrist hashing): by territory, owner and lower digit
    of its troops; then for seat, attacks left, ply and round; then by territory and third digit.
    """
    return ints(
        make_random_numbers(
            territories * MAX_PLAYERS * 2 * KEY_DIGIT_BASE + TURN_KEY_COUNT + territories * KEY_DIGIT_BASE
        )
    )


@compiled
def cell_key(board: Any, state: Any, keys: Any, at: int) -> int:
    """Return what the territory at cell `at`, with its owner and troops, contributes to the search key."""
    begin = (board[at + 3] * MAX_PLAYERS + state[at]) * 2 * KEY_DIGIT_BASE
    troops = state[at + 1]
    key = (
        keys[begin + troops % KEY_DIGIT_BASE] ^ keys[begin + KEY_DIGIT_BASE + troops // KEY_DIGIT_BASE % KEY_DIGIT_BASE]
    )
    if troops < KEY_DIGIT_BASE * KEY_DIGIT_BASE:
        return key  # type: ignore[no-any-return]
    begin = board[TERRITORY_COUNT] * MAX_PLAYERS * 2 * KEY_DIGIT_BASE + TURN_KEY_COUNT + board[at + 3] * KEY_DIGIT_BASE
    return key ^ keys[begin + troops // (KEY_DIGIT_BASE * KEY_DIGIT_BASE) % KEY_DIGIT_BASE]  # type: ignore[no-any-return]
