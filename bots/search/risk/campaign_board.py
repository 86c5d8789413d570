"""The campaign's map and rules as a flat array, `board`, and the random numbers of its search keys."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import Any

from bots.search.risk.flat_position import TERRITORY_COUNT, board_values, cell_of
from bots.search.risk.work_buffers import make_random_numbers
from machine.compiled import compiled, ints
from protocol.games.risk.campaign import MAX_PLAYERS, Campaign

BORDERS, SOURCES, BORDER_COUNT, SEATS, ATTACKS, ROUNDS, CLASSIC, DICE, CONTINENTS, CONTINENT_COUNT, SNAKE = range(4, 15)
"""The campaign's slots of `board`. At BORDERS begins the list of the cells that borders lead to, at SOURCES that of the
cells that they lead from; BORDER_COUNT is the number of borders. ATTACKS is the number of attacks a turn under the
rules. CLASSIC, DICE and SNAKE are 0 or 1. At CONTINENTS begin the continents, each as bonus, count and cells;
CONTINENT_COUNT is their number.
"""

KEY_DIGIT_BASE = 64
"""The base of the digits in which troops enter a search key: two with the owner, a third for larger armies."""
SEAT_KEYS, LEFT_KEYS, PLY_KEYS, ROUND_KEYS, TURN_KEY_COUNT = 0, 8, 32, 256, 2048
"""The random numbers of a search key for everything but territories: where those for seats, remaining attacks, plies
and rounds begin, and their total. They follow the numbers for the first two digits of troops; the numbers for the third
digits come last.
"""


def campaign_board(rules: Campaign) -> list[int]:
    """Return the array `board` of a campaign as a list, for `ints`."""
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
    """Return the next seat after `seat` in round `round_number`, and its round. seats[alive + seat] says whether a seat
    is in the game.
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
    """Return the Zobrist numbers: by territory, owner and digit of its troops; then by seat, attacks left, ply and
    round; then by territory and third digit.
    """
    return ints(
        make_random_numbers(
            territories * MAX_PLAYERS * 2 * KEY_DIGIT_BASE + TURN_KEY_COUNT + territories * KEY_DIGIT_BASE
        )
    )


@compiled
def cell_key(board: Any, state: Any, keys: Any, at: int) -> int:
    """Return what one cell contributes to the search key."""
    begin = (board[at + 3] * MAX_PLAYERS + state[at]) * 2 * KEY_DIGIT_BASE
    troops = state[at + 1]
    key = (
        keys[begin + troops % KEY_DIGIT_BASE] ^ keys[begin + KEY_DIGIT_BASE + troops // KEY_DIGIT_BASE % KEY_DIGIT_BASE]
    )
    if troops < KEY_DIGIT_BASE * KEY_DIGIT_BASE:
        return key  # type: ignore[no-any-return]
    begin = board[TERRITORY_COUNT] * MAX_PLAYERS * 2 * KEY_DIGIT_BASE + TURN_KEY_COUNT + board[at + 3] * KEY_DIGIT_BASE
    return key ^ keys[begin + troops // (KEY_DIGIT_BASE * KEY_DIGIT_BASE) % KEY_DIGIT_BASE]  # type: ignore[no-any-return]
