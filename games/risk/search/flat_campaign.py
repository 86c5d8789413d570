"""The rules of campaigns on flat arrays: the map and rules, `board`, a position, `state`, and the moves.

The arrays are those of flat_position.py with what only campaigns have. The searches, the tree search with its policies
and the batches for learning all play by these rules. To undo a move, they restore a copy of `state`.
"""

from __future__ import annotations

from functools import lru_cache
from math import floor
from typing import Any

from games.risk.rules.battle import MAX_ATTACK_DICE, MAX_DEFENCE_DICE, round_odds
from games.risk.rules.campaign import MAX_PLAYERS, MIN_CLASSIC_DRAFT, Campaign, Position
from games.risk.search.battle_odds import fight_without_dice
from games.risk.search.flat_position import (
    BLOCK_LENGTH,
    BONUS,
    BORDER,
    BORDER_END,
    BORDERS,
    CELL_LENGTH,
    CELLS_END,
    FIRST_CELL,
    FIRST_OWN_INDEX,
    FIRST_OWN_SLOT,
    OUTLOOK,
    OVER,
    OWNER,
    SIZE,
    TERRITORIES_OF_SEAT,
    TERRITORY_COUNT,
    TROOPS,
    TROOPS_OF_SEAT,
    TURN,
    board_values,
    make_state,
    set_cell,
    territory_of,
)
from games.risk.search.work_buffers import make_random_numbers
from machine.compiled import compiled, entry, inlined
from machine.generator import DRAW_RANGE, FIRST_SLOT, SECOND_SLOT, draw, seed_state

SEATS, ATTACKS, ROUNDS, CLASSIC, DICE, SNAKE, KEYS, TURN_KEYS = range(FIRST_OWN_INDEX, FIRST_OWN_INDEX + 8)
"""These are the indices of `board` that only campaigns have:

- SEATS: the number of seats.
- ATTACKS: the number of attacks allowed in a turn.
- ROUNDS: the maximum number of rounds.
- CLASSIC: 1 if the draft is classic.
- DICE: 1 if dice are rolled for battles.
- SNAKE: 1 if seats move in descending order in even rounds.
- KEYS: where the random numbers begin from which search keys are made (Zobrist hashing): by territory, owner and lower
  digit of its troops; then those at TURN_KEYS. 0 for a board without search keys.
- TURN_KEYS: where the random numbers for seat to move, attacks left, ply and round begin; then follow those by
  territory and third digit of its troops.
"""
(ATTACKS_LEFT, ATTACKS_PER_TURN, ROUND, ACTIVE, DRAFTING, UNITS_TO_PLACE, KEY, IS_IN_GAME) = range(
    FIRST_OWN_SLOT, FIRST_OWN_SLOT + 8
)
"""These are indices of `state` that only campaigns have:

- ATTACKS_LEFT: the number of attacks that the seat to move has left.
- ATTACKS_PER_TURN: the limit of attacks in a turn. A search may lower it.
- ROUND: the round.
- ACTIVE: the number of seats in the game.
- DRAFTING: whether the turn is at its draft.
- UNITS_TO_PLACE: the number of units that the seat to move has to place.
- KEY: the part of the search key for owners and troops, relative to the root of the search.
- IS_IN_GAME: where a list begins that says for each seat whether it is in the game.
"""
NO_CELL = -1
"""The number in place of a cell in a move that has no source or no target."""
NO_SEAT = -1
"""The number in place of the seat that searches, if none does: playouts, batches and counts of paths."""
END_MOVE = 0
"""The number of the move that ends the turn. An attack across a border has the border's index in `board` as number."""

KEY_DIGIT_BASE = 64
"""The base of the digits in which a territory's number of troops enters a search key (Zobrist hash). Each of the two
lowest digits selects a random number by territory, owner and digit. From 4,096 troops on, the third-lowest digit
selects one more, by territory and digit alone.
"""
SEAT_KEYS, ATTACKS_LEFT_KEYS, PLY_KEYS, ROUND_KEYS, TURN_KEY_COUNT = 0, 8, 32, 256, 2048
"""These are offsets in the random numbers at board[TURN_KEYS]:

- SEAT_KEYS, ATTACKS_LEFT_KEYS, PLY_KEYS, ROUND_KEYS: where the numbers for the seat to move, the attacks left, the ply
  and the round begin.
- TURN_KEY_COUNT: the count of these numbers.
"""


def campaign_board(rules: Campaign, *, keys: bool = False) -> list[int]:
    """Return the values of the array `board` of a campaign, with the random numbers of search keys if `keys` is set.
    `ints` converts this list to the array.
    """
    values = board_values(rules.map)
    values[SEATS], values[ATTACKS], values[ROUNDS] = rules.seats, rules.max_attacks, rules.max_rounds
    values[CLASSIC], values[DICE], values[SNAKE] = rules.draft == "classic", rules.battle == "dice", rules.snake
    if keys:
        values[KEYS] = len(values)
        values[TURN_KEYS] = values[KEYS] + len(rules.map) * MAX_PLAYERS * 2 * KEY_DIGIT_BASE
        values += _key_numbers(len(rules.map))
    return values


@lru_cache(maxsize=8)
def _key_numbers(territories: int) -> list[int]:
    return make_random_numbers(
        territories * MAX_PLAYERS * 2 * KEY_DIGIT_BASE + TURN_KEY_COUNT + territories * KEY_DIGIT_BASE
    )


def make_campaign_state(
    board: Any, position: Position, *, seat: int = NO_SEAT, mode: int = OUTLOOK, seed: int = 0
) -> Any:
    """Return the array `state` of a position, seen from `seat`. Its generator, which rolls the dice of battles, begins
    with `seed`, a seed of `machine.generator`.
    """
    state = make_state(board, position, seat, mode)
    state[FIRST_SLOT], state[SECOND_SLOT] = seed_state(seed)
    state[TURN], state[ROUND], state[ACTIVE] = position.seat, position.round, board[SEATS] - len(position.out)
    state[ATTACKS_LEFT], state[ATTACKS_PER_TURN] = position.attacks_left, board[ATTACKS]
    state[DRAFTING], state[UNITS_TO_PLACE] = position.phase == "draft", position.units
    state[OVER] = state[ACTIVE] == 1 or position.round > board[ROUNDS]
    for each in range(board[SEATS]):
        state[IS_IN_GAME + each] = each not in position.out
    return state


@compiled
def cell_key(board: Any, state: Any, at: int) -> int:
    """Return what the territory at cell `at`, with its owner and troops, contributes to the search key."""
    begin = board[KEYS] + (territory_of(at) * MAX_PLAYERS + state[at]) * 2 * KEY_DIGIT_BASE
    troops = state[at + 1]
    key = (
        board[begin + troops % KEY_DIGIT_BASE]
        ^ board[begin + KEY_DIGIT_BASE + troops // KEY_DIGIT_BASE % KEY_DIGIT_BASE]
    )
    if troops < KEY_DIGIT_BASE * KEY_DIGIT_BASE:
        return key  # type: ignore[no-any-return]
    begin = board[TURN_KEYS] + TURN_KEY_COUNT + territory_of(at) * KEY_DIGIT_BASE
    return key ^ board[begin + troops // (KEY_DIGIT_BASE * KEY_DIGIT_BASE) % KEY_DIGIT_BASE]  # type: ignore[no-any-return]


@compiled
def turn_key(board: Any, state: Any, attacks: int, ply: int) -> int:
    """Return what the seat to move, the number `attacks` for the attacks left, and the ply contribute to the key."""
    begin = board[TURN_KEYS]
    return (  # type: ignore[no-any-return]
        board[begin + SEAT_KEYS + state[TURN]]
        ^ board[begin + ATTACKS_LEFT_KEYS + attacks]
        ^ board[begin + PLY_KEYS + ply]
    )


@compiled
def round_key(board: Any, state: Any) -> int:
    """Return what the round contributes to the search key."""
    return board[board[TURN_KEYS] + ROUND_KEYS + state[ROUND]]  # type: ignore[no-any-return]


@inlined
def set_cell_and_key(board: Any, state: Any, at: int, owner: int, troops: int) -> None:
    """Set a territory's owner and troops by `set_cell`, and update the search key if `board` has keys."""
    if board[KEYS]:
        state[KEY] ^= cell_key(board, state, at)
    set_cell(board, state, at, owner, troops)
    if board[KEYS]:
        state[KEY] ^= cell_key(board, state, at)


def _round_thresholds() -> tuple[int, ...]:
    """Return two thresholds for each number of attacking dice and of defending dice.

    If a round's random number is below the first threshold, the attacker loses nothing. If it is below the second, the
    attacker loses less than all units at stake.
    """
    limits = []
    for attacking in range(1, MAX_ATTACK_DICE + 1):
        for defending in range(1, MAX_DEFENCE_DICE + 1):
            odds = {lost: chance for chance, lost, _ in round_odds(attacking, defending)}
            stake = min(attacking, defending)
            limits += [int(odds[0] * DRAW_RANGE), int((1 - odds[stake]) * DRAW_RANGE)]
    return tuple(limits)


_ROUND_THRESHOLDS = _round_thresholds()
"""The thresholds with which `fight` compares a random number to find the losses of a round (see `_round_thresholds`).
There are two for each number of attacking dice and of defending dice.
"""


@compiled
def fight(state: Any, attackers: int, defenders: int, dice: int) -> int:
    """Return the units left after a battle, which is fought here: attackers if positive, defenders if negative."""
    if not dice:
        return fight_without_dice(attackers, defenders)
    while attackers > 0 and defenders > 0:
        sides = 4 * min(attackers, MAX_ATTACK_DICE) + 2 * min(defenders, MAX_DEFENCE_DICE) - 6
        stake = 2 if attackers > 1 and defenders > 1 else 1
        drawn = draw(state)
        if drawn < _ROUND_THRESHOLDS[sides]:
            defenders -= stake
        elif drawn < _ROUND_THRESHOLDS[sides + 1]:
            attackers -= 1
            defenders -= 1
        else:
            attackers -= stake
    return attackers if attackers > 0 else -defenders


@entry
def income(board: Any, state: Any, seat: int) -> int:
    """Return the units that a seat has to place in a draft."""
    held = state[TERRITORIES_OF_SEAT + seat]
    if not board[CLASSIC]:
        return held  # type: ignore[no-any-return]
    units = max(MIN_CLASSIC_DRAFT, held // 3)
    for block in range(board[CELLS_END] + 1, board[BORDERS], BLOCK_LENGTH):
        if state[block + seat] == board[block + SIZE]:
            units += board[block + BONUS]
    return units  # type: ignore[no-any-return]


@compiled
def place_units(board: Any, state: Any, at: int, units: int) -> None:
    """Place drafted units on a territory. The draft ends with the last unit."""
    set_cell_and_key(board, state, at, state[at + OWNER], state[at + TROOPS] + units)
    state[UNITS_TO_PLACE] -= units
    if state[UNITS_TO_PLACE] == 0:
        state[DRAFTING] = 0


@compiled
def end_turn(board: Any, state: Any) -> None:
    """Pass the turn to the next seat in the game, or end the game after the last round."""
    step = -1 if board[SNAKE] and state[ROUND] % 2 == 0 else 1
    following = state[TURN] + step
    while 0 <= following < board[SEATS] and not state[IS_IN_GAME + following]:
        following += step
    if not 0 <= following < board[SEATS]:
        state[ROUND] += 1
        if board[SNAKE]:
            step = -step
        following = 0 if step > 0 else board[SEATS] - 1
        while not state[IS_IN_GAME + following]:
            following += step
        if state[ROUND] > board[ROUNDS]:
            state[OVER] = 1
    state[TURN], state[ATTACKS_LEFT], state[DRAFTING] = following, state[ATTACKS_PER_TURN], 1
    state[UNITS_TO_PLACE] = income(board, state, following)


@compiled
def apply_battle(board: Any, state: Any, at: int, to: int, units: int, left: int) -> None:
    """Apply the battle result `left`, in the form that `fight` returns. After the last attack the turn passes."""
    seat, loser = state[TURN], state[to + OWNER]
    owner, rest = (seat, left) if left > 0 else (loser, -left)
    set_cell_and_key(board, state, at, seat, state[at + TROOPS] - units)
    set_cell_and_key(board, state, to, owner, rest)
    state[ATTACKS_LEFT] -= 1
    if owner == seat and state[TERRITORIES_OF_SEAT + loser] == 0 and state[IS_IN_GAME + loser]:
        state[IS_IN_GAME + loser] = 0
        state[ACTIVE] -= 1
        if state[ACTIVE] == 1:
            state[OVER] = 1
    if state[ATTACKS_LEFT] == 0 and not state[OVER]:
        end_turn(board, state)


@compiled
def attack(board: Any, state: Any, at: int, to: int, units: int) -> None:
    apply_battle(board, state, at, to, units, fight(state, units, state[to + TROOPS], board[DICE]))


@entry
def apply_move(board: Any, state: Any, source: int, target: int, units: int, left: int) -> None:
    """Play a move. With a source and a target it is an attack, and `left` is its result, in the form that `fight`
    returns. With only a source it is a draft of `units`. With neither it ends the turn.
    """
    if target != NO_CELL:
        apply_battle(board, state, source, target, units, left)
    elif source != NO_CELL:
        place_units(board, state, source, units)
    else:
        end_turn(board, state)


@compiled
def list_attacks(board: Any, state: Any, moves: Any, begin: int, every: int) -> int:
    """Write the attacks of the seat to move, then END_MOVE, to `moves` from `begin` on. Return where they end.

    Unless `every` is 1, write only candidate attacks: the source has at least two units more than the target.
    """
    seat, end = state[TURN], begin
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        troops = state[at + TROOPS]
        if state[at + OWNER] == seat and troops >= 3 - every:
            for i in range(board[at + BORDER], board[at + BORDER_END]):
                to = board[i]
                if state[to + OWNER] != seat and (every or troops >= state[to + TROOPS] + 2):
                    moves[end] = i
                    end += 1
    moves[end] = END_MOVE
    return end + 1


@compiled
def place_by_rule(board: Any, state: Any, placements: Any, begin: int, pressure: Any) -> None:
    """Place the units of the seat to move by the draft rule. games.risk.rules.draft defines the rule and its rounding.

    `placements` from `begin` on, two entries a territory, and `pressure`, one float a territory, are scratch space.
    """
    kept = _sort_by_pressure(board, state, placements, begin, pressure)
    total = 0.0
    for i in range(kept):
        total += pressure[i]
    units, placed = state[UNITS_TO_PLACE], begin + board[TERRITORY_COUNT]
    left = units
    for i in range(kept):
        share = pressure[i] / total if total > 0.0 else 1.0 / kept
        count = min(left, max(1, floor(share * units + 0.5)))
        placements[placed + i] = count
        left -= count
    for i in range(left):
        placements[placed + i % kept] += 1
    for i in range(kept):
        if placements[placed + i]:
            place_units(board, state, placements[begin + i], placements[placed + i])


@compiled
def _sort_by_pressure(board: Any, state: Any, placements: Any, begin: int, pressure: Any) -> int:
    """Write the cells of the territories of the seat to move to `placements` from `begin` on, those under most pressure
    first. Write the pressure on each to `pressure`. Return the number of territories to draft to: half of them, rounded
    up.
    """
    own, seat = 0, state[TURN]
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        if state[at + OWNER] != seat:
            continue
        enemies = 0
        for i in range(board[at + BORDER], board[at + BORDER_END]):
            if state[board[i] + OWNER] != seat:
                enemies += state[board[i] + TROOPS]
        here = enemies / state[at + TROOPS]
        i = own
        while i > 0 and pressure[i - 1] < here:
            pressure[i] = pressure[i - 1]
            placements[begin + i] = placements[begin + i - 1]
            i -= 1
        pressure[i] = here
        placements[begin + i] = at
        own += 1
    return (own + 1) // 2


@compiled
def standing(state: Any, seat: int) -> int:
    """Return a number by which the surviving seats of a finished game rank: by territories, then by units. It is −1 for
    a seat that is out.
    """
    if not state[IS_IN_GAME + seat]:
        return -1
    return (state[TERRITORIES_OF_SEAT + seat] << 32) + state[TROOPS_OF_SEAT + seat]  # type: ignore[no-any-return]


@compiled
def first_place_share(board: Any, state: Any, seat: int) -> float:
    """Return a seat's share of first place in a finished game: 1 for a sole winner, ½ for each of two, 0 if behind."""
    own, winners = standing(state, seat), 0
    for other in range(board[SEATS]):
        found = standing(state, other)
        if found > own:
            return 0.0
        winners += found == own
    return 1.0 / winners if own >= 0 else 0.0
