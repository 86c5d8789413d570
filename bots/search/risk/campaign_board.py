"""The campaign on flat arrays: drafts, attacks and turns made and taken back, and perft, for campaign_search.py.

A move is one number: a border to attack across, counted from 0 as board[SOURCES] lists them, or their number: the end.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from math import floor
from typing import Any

from bots.search.risk.battle_odds import left_after, without_dice
from bots.search.risk.flat_position import OWNED, ROWS, SEAT, TERRITORIES, WIDTH, board_values, cell, put
from bots.search.risk.work_buffers import LINE, LINES, OWN, random_numbers
from machine.compiled import compiled, entry, ints, zeros
from protocol.games.risk.campaign import LEAST_CLASSIC, MOST_PLAYERS, Campaign, Position

BORDERS, SOURCES, MOVES, SEATS, ATTACKS, ROUNDS, CLASSIC, DICE, CONTINENTS, HELD = range(4, 14)
"""The campaign's slots of `board`: [BORDERS] where the cells that borders lead to begin, [SOURCES] those that they lead
from; [MOVES] the number of borders; [ATTACKS] attacks a turn in the rules; [CLASSIC] and [DICE] 0 or 1; [CONTINENTS]
where they begin, each a bonus, a count and cells, and [HELD] how many there are."""

TURN, LEFT, ROUND, ACTIVE, GONE, KEPT, KEY, A_TURN, ALIVE = range(OWN, OWN + 9)
"""The position beside owners and troops, in `play`: the seat to move, the attacks it has left, the round, how many
seats are in the game, the seat that the last attack put out (−1: none), where positions are kept, the search key,
attacks a turn, and by seat whether it is in the game."""
EVERY, FIGHT, CALM, BY_TURNS, NEAR, LISTS, HISTORY, DRAFTING = range(ALIVE + MOST_PLAYERS, ALIVE + MOST_PLAYERS + 8)
"""How to search: whether every attack is a move (1) or the candidates are (0), whether battles are thrown, leaves made
calm, depth is counted in turns, and the round is part of the key; where the lists of moves begin, and the moves'
history. [DRAFTING] is whether the turn is at its draft."""
DRAFTS = DRAFTING + 1
"""Where a draft is worked out: two slots a territory. The positions that are kept follow."""

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
    values[CLASSIC], values[DICE] = rules.draft == "classic", rules.battle == "dice"
    return values


def play_array(board: list[int], position: Position, depth: int) -> Any:
    """`play` with the position's turn and room for `depth` plies of search."""
    count, moves, seats = board[TERRITORIES], board[MOVES], board[SEATS]
    kept = DRAFTS + 2 * count
    lines = kept + (cell(count) + 1) * (depth + 1)
    lists = lines + (depth + 2) * (depth + 2)
    history = lists + (moves + 1) * (depth + 1)
    play = zeros(history + 2 * (moves + 1))
    play[TURN], play[LEFT], play[ROUND] = position.seat, position.attacks_left, position.round
    play[ACTIVE], play[GONE], play[KEPT], play[A_TURN] = seats - len(position.out), -1, kept, board[ATTACKS]
    for seat in range(seats):
        play[ALIVE + seat] = seat not in position.out
    play[LINES], play[LINE], play[LISTS], play[HISTORY] = lines, depth + 2, lists, history
    return play


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


@compiled
def turn_key(board: Any, play: Any, keys: Any, ply: int) -> int:
    """What the turn and the distance from the root add to the search key, with the round where it may be the last."""
    begin = board[TERRITORIES] * MOST_PLAYERS * 2 * SPAN
    key = keys[begin + SEAT_KEYS + play[TURN]] ^ keys[begin + LEFT_KEYS + play[LEFT]] ^ keys[begin + PLY_KEYS + ply]
    return key ^ keys[begin + ROUND_KEYS + play[ROUND]] if play[NEAR] else key  # type: ignore[no-any-return]


@compiled
def place(board: Any, state: Any, play: Any, keys: Any, at: int, owner: int, troops: int) -> None:
    """`put`, written to the search key."""
    play[KEY] ^= key_of(board, state, keys, at)
    put(board, state, at, owner, troops)
    play[KEY] ^= key_of(board, state, keys, at)


@compiled
def keep(state: Any, play: Any, ply: int) -> None:
    """Lay the position aside, with its search key: one a ply."""
    begin = play[KEPT] + ply * (len(state) + 1)
    end = begin + len(state)
    play[begin:end] = state
    play[end] = play[KEY]


@compiled
def take_back(state: Any, play: Any, ply: int) -> None:
    """Undo what was placed since the position was kept: quicker than to place it all back."""
    begin = play[KEPT] + ply * (len(state) + 1)
    end = begin + len(state)
    state[:] = play[begin:end]
    play[KEY] = play[end]


@compiled
def back_to(play: Any, seat: int, left: int, number: int, gone: int) -> None:
    """Give the turn back as it was, and the seat that an attack put out its place in the game."""
    play[TURN], play[LEFT], play[ROUND], play[DRAFTING] = seat, left, number, 0
    if gone >= 0:
        play[ALIVE + gone] = 1
        play[ACTIVE] += 1


@compiled
def income(board: Any, state: Any, seat: int) -> int:
    """The units that a seat has to place in a draft."""
    owned = state[OWNED + seat]
    if not board[CLASSIC]:
        return owned  # type: ignore[no-any-return]
    units = max(LEAST_CLASSIC, owned // 3)
    begin = board[CONTINENTS]
    for _ in range(board[HELD]):
        end = begin + 2 + board[begin + 1]
        held = board[begin]
        for i in range(begin + 2, end):
            if state[board[i]] != seat:
                held = 0
                break
        units += held
        begin = end
    return units  # type: ignore[no-any-return]


@compiled
def draft(board: Any, state: Any, play: Any, keys: Any, pressure: Any) -> None:
    """Place the new units of the seat to move by the draft rule, rounding as protocol.games.risk.draft does.

    `pressure` is room for a float a territory.
    """
    seat = play[TURN]
    play[DRAFTING] = 0
    units = income(board, state, seat)
    kept = _under_pressure(board, state, play, pressure, seat)
    total = 0.0
    for i in range(kept):
        total += pressure[i]
    placed = DRAFTS + board[TERRITORIES]
    left = units
    for i in range(kept):
        share = pressure[i] / total if total > 0.0 else 1.0 / kept
        count = min(left, max(1, floor(share * units + 0.5)))
        play[placed + i] = count
        left -= count
    for i in range(left):
        play[placed + i % kept] += 1
    for i in range(kept):
        if play[placed + i]:
            at = play[DRAFTS + i]
            place(board, state, play, keys, at, seat, state[at + 1] + play[placed + i])


@compiled
def _under_pressure(board: Any, state: Any, play: Any, pressure: Any, seat: int) -> int:
    """Sort the seat's cells to play[DRAFTS…], most pressure first; returns how many are the upper half."""
    own = 0
    for at in range(ROWS, board[BORDERS], WIDTH):
        if state[at] != seat:
            continue
        enemies = 0
        for i in range(board[at], board[at + 1]):
            if state[board[i]] != seat:
                enemies += state[board[i] + 1]
        here = enemies / state[at + 1]
        i = own
        while i > 0 and pressure[i - 1] < here:
            pressure[i] = pressure[i - 1]
            play[DRAFTS + i] = play[DRAFTS + i - 1]
            i -= 1
        pressure[i] = here
        play[DRAFTS + i] = at
        own += 1
    return (own + 1) // 2


@compiled
def pass_turn(board: Any, play: Any) -> bool:
    """The turn goes on to the next seat in the game; returns whether the rounds are over."""
    seat = play[TURN]
    following = seat
    while True:
        following = (following + 1) % board[SEATS]
        if play[ALIVE + following]:
            break
    if following <= seat:
        play[ROUND] += 1
    play[TURN], play[LEFT], play[DRAFTING] = following, play[A_TURN], 1
    return play[ROUND] > board[ROUNDS]  # type: ignore[no-any-return]


@compiled
def list_moves(board: Any, state: Any, play: Any, begin: int) -> int:
    """Write the attacks of the seat to move, by index, and the end to `play` from `begin` on; returns where they end.

    Unless play[EVERY] is 1 an attack needs two units more than the enemy has.
    """
    seat, every, borders, end = play[TURN], play[EVERY], board[BORDERS], begin
    for at in range(ROWS, borders, WIDTH):
        troops = state[at + 1]
        if state[at] == seat and troops >= 3 - every:
            for i in range(board[at], board[at + 1]):
                to = board[i]
                if state[to] != seat and (every or troops >= state[to + 1] + 2):
                    play[end] = i - borders
                    end += 1
    play[end] = board[MOVES]
    return end + 1


@entry
def size_of(troops: int, defenders: int, every: int) -> int:
    """The units that an attack sends: all that can go, or for a candidate the mean of both sides, rounded up."""
    return troops - 1 if every else (troops + defenders + 1) // 2


@compiled
def attack(board: Any, state: Any, play: Any, keys: Any, move: int, size: int, remain: int) -> bool:
    """Fight: `remain` attackers are left and take the territory, or below 0 as many defenders.

    Returns whether the game is over for MAX.
    """
    at, to = board[board[SOURCES] + move], board[board[BORDERS] + move]
    seat, enemy = state[at], state[to]
    place(board, state, play, keys, at, seat, state[at + 1] - size)
    play[LEFT] -= 1
    play[GONE] = -1
    if remain < 0:
        place(board, state, play, keys, to, enemy, -remain)
        return False
    place(board, state, play, keys, to, seat, remain)
    if state[OWNED + enemy] or not play[ALIVE + enemy]:
        return False
    play[GONE] = enemy
    play[ALIVE + enemy] = 0
    play[ACTIVE] -= 1
    return play[ACTIVE] == 1 or enemy == state[SEAT]  # type: ignore[no-any-return]


@entry
def perft(board: Any, state: Any, play: Any, keys: Any, pressure: Any, depth: int) -> int:
    """Paths of exactly `depth` plies from an unfinished position: every attack with the most units, every result."""
    if depth == 0:
        return 1
    keep(state, play, depth)
    seat, left, number = play[TURN], play[LEFT], play[ROUND]
    if play[DRAFTING]:
        draft(board, state, play, keys, pressure)
        paths = perft(board, state, play, keys, pressure, depth - 1)
        take_back(state, play, depth)
        return paths
    paths = 0
    begin = play[LISTS] + depth * (board[MOVES] + 1)
    for i in range(begin, list_moves(board, state, play, begin) - 1):
        move = play[i]
        size = state[board[board[SOURCES] + move] + 1] - 1
        defenders = state[board[board[BORDERS] + move] + 1]
        for result in range(size + defenders if board[DICE] else 1):
            remain = left_after(result, size) if board[DICE] else without_dice(size, defenders)
            over = attack(board, state, play, keys, move, size, remain)
            gone = play[GONE]
            if not over and play[LEFT] == 0:
                over = pass_turn(board, play)
            paths += (depth == 1) if over else perft(board, state, play, keys, pressure, depth - 1)
            take_back(state, play, depth)
            back_to(play, seat, left, number, gone)
    over = pass_turn(board, play)
    paths += (depth == 1) if over else perft(board, state, play, keys, pressure, depth - 1)
    back_to(play, seat, left, number, -1)
    return paths
