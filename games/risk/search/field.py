"""A campaign's position as one flat array, `field`, for playouts. Moves cannot be undone. Counts, such as a seat's
territories, are kept up to date.

Territories are cells, as in flat_position.py; `board` is that of campaign_board.py. `field` also contains the random
generator of its dice.
"""

from __future__ import annotations

from typing import Any

from games.risk.rules.battle import MAX_ATTACK_DICE, MAX_DEFENCE_DICE, round_odds
from games.risk.rules.campaign import MAX_PLAYERS, MIN_CLASSIC_DRAFT, Campaign, Position
from games.risk.search.campaign_board import ATTACKS, CLASSIC, DICE, ROUNDS, SEATS, find_next_turn
from games.risk.search.flat_position import CELL_LENGTH, FIRST_CELL, TERRITORY_COUNT, cell_of
from machine.compiled import compiled, entry, ints
from machine.generator import DRAW_RANGE, FIRST_SLOT, SECOND_SLOT, draw, seed_state

TURN, ATTACKS_LEFT, ROUND, ACTIVE, DRAFTING, UNITS, OVER, IS_IN_GAME = range(SECOND_SLOT + 1, SECOND_SLOT + 9)
"""These are slots of `field`, after those of the random generator:

- TURN: the seat to move.
- ATTACKS_LEFT: the number of attacks that the seat to move has left.
- ROUND: the round.
- ACTIVE: the number of seats in the game.
- DRAFTING: whether the turn is at its draft.
- UNITS: the number of units to place.
- OVER: whether the game is over.
- IS_IN_GAME: where a list begins that says for each seat whether it is in the game.
"""
TERRITORIES_OF_SEAT = IS_IN_GAME + MAX_PLAYERS
"""field[TERRITORIES_OF_SEAT + seat] is the number of the seat's territories."""
CONTINENT_COUNT, BLOCKS = TERRITORIES_OF_SEAT + MAX_PLAYERS, TERRITORIES_OF_SEAT + MAX_PLAYERS + 1
"""These are slots of `field`: the number of continents, and where the continents' blocks of slots begin."""
FOES, BLOCK = 2, 3
"""These are offsets in a territory's cell of `field`, which begins with the owner and the troops:

- FOES: the number of neighbours with another owner.
- BLOCK: the index in `field` at which the block of the territory's continent begins (see SIZE).
"""
SIZE, BONUS, BLOCK_WIDTH = MAX_PLAYERS, MAX_PLAYERS + 1, MAX_PLAYERS + 2
"""These are offsets in a continent's block of `field`. The block begins with a number for each seat: how many of the
continent's territories the seat holds.

- SIZE: the number of the continent's territories.
- BONUS: the continent's bonus.
- BLOCK_WIDTH: the length of the block.
"""
NO_CELL = -1
"""The number in place of a cell in a move that has no source or no target."""
POSITION_BEGIN = TURN
"""The index in `field` at which the position begins. Before it is the random generator."""


def make_field(rules: Campaign, position: Position, seed: int) -> Any:
    """Return the array `field` that contains `position` and a random generator for the dice of battles. `seed` is a
    seed of `machine.generator`.
    """
    map_ = rules.map
    count, continents = len(map_), len(map_.continents)
    blocks = cell_of(count)
    field = [0] * (blocks + BLOCK_WIDTH * continents)
    field[FIRST_SLOT], field[SECOND_SLOT] = seed_state(seed)
    field[TURN], field[ATTACKS_LEFT], field[ROUND] = position.seat, position.attacks_left, position.round
    field[ACTIVE] = rules.seats - len(position.out)
    field[DRAFTING], field[UNITS] = position.phase == "draft", position.units
    field[OVER] = rules.to_move(position) is None
    for seat in range(rules.seats):
        field[IS_IN_GAME + seat] = seat not in position.out
        field[TERRITORIES_OF_SEAT + seat] = position.owner.count(seat)
    field[CONTINENT_COUNT], field[BLOCKS] = continents, blocks
    for index, continent in enumerate(map_.continents):
        block = blocks + BLOCK_WIDTH * index
        for at in map_.members[index]:
            field[block + position.owner[at]] += 1
            field[cell_of(at) + BLOCK] = block
        field[block + SIZE], field[block + BONUS] = len(map_.members[index]), continent.bonus
    for at, owner in enumerate(position.owner):
        field[cell_of(at)], field[cell_of(at) + 1] = owner, position.troops[at]
        field[cell_of(at) + FOES] = sum(position.owner[other] != owner for other in map_.neighbours[at])
    return ints(field)


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
def fight(field: Any, attackers: int, defenders: int, dice: int) -> int:
    """Return the units left after a battle, which is fought here: attackers if positive, defenders if negative."""
    if not dice:
        return attackers - defenders if attackers > defenders else min(-1, attackers - defenders)
    while attackers > 0 and defenders > 0:
        sides = 4 * min(attackers, MAX_ATTACK_DICE) + 2 * min(defenders, MAX_DEFENCE_DICE) - 6
        stake = 2 if attackers > 1 and defenders > 1 else 1
        drawn = draw(field)
        if drawn < _ROUND_THRESHOLDS[sides]:
            defenders -= stake
        elif drawn < _ROUND_THRESHOLDS[sides + 1]:
            attackers -= 1
            defenders -= 1
        else:
            attackers -= stake
    return attackers if attackers > 0 else -defenders


@compiled
def change_owner(board: Any, field: Any, at: int, seat: int) -> None:
    """Give a territory to another seat. Giving it back undoes the change."""
    was = field[at]
    field[at] = seat
    foes = 0
    for i in range(board[at], board[at + 1]):
        other = board[i]
        holder = field[other]
        if holder == seat:
            field[other + FOES] -= 1
        else:
            foes += 1
            if holder == was:
                field[other + FOES] += 1
    field[at + FOES] = foes
    field[TERRITORIES_OF_SEAT + was] -= 1
    field[TERRITORIES_OF_SEAT + seat] += 1
    block = field[at + BLOCK]
    field[block + was] -= 1
    field[block + seat] += 1


@entry
def income(board: Any, field: Any, seat: int) -> int:
    """Return the units that a seat has to place in a draft."""
    held = field[TERRITORIES_OF_SEAT + seat]
    if not board[CLASSIC]:
        return held  # type: ignore[no-any-return]
    units = max(MIN_CLASSIC_DRAFT, held // 3)
    for i in range(field[CONTINENT_COUNT]):
        block = field[BLOCKS] + i * BLOCK_WIDTH
        if field[block + seat] == field[block + SIZE]:
            units += field[block + BONUS]
    return units  # type: ignore[no-any-return]


@compiled
def place_units(field: Any, at: int, units: int) -> None:
    """Place drafted units on a territory. The draft ends with the last unit."""
    field[at + 1] += units
    field[UNITS] -= units
    if field[UNITS] == 0:
        field[DRAFTING] = 0


@compiled
def end_turn(board: Any, field: Any) -> None:
    """Pass the turn to the next seat in the game, or end the game after the last round."""
    following, number = find_next_turn(board, field, IS_IN_GAME, field[TURN], field[ROUND])
    if number > board[ROUNDS]:
        field[OVER] = 1
    field[TURN], field[ROUND], field[ATTACKS_LEFT], field[DRAFTING] = following, number, board[ATTACKS], 1
    field[UNITS] = income(board, field, following)


@compiled
def apply_battle(board: Any, field: Any, at: int, to: int, units: int, left: int) -> None:
    """Apply the battle result `left`, in the form that `fight` returns. After the last attack the turn passes."""
    field[at + 1] -= units
    field[ATTACKS_LEFT] -= 1
    if left > 0:
        loser = field[to]
        field[to + 1] = left
        change_owner(board, field, to, field[TURN])
        if field[TERRITORIES_OF_SEAT + loser] == 0 and field[IS_IN_GAME + loser]:
            field[IS_IN_GAME + loser] = 0
            field[ACTIVE] -= 1
            if field[ACTIVE] == 1:
                field[OVER] = 1
    else:
        field[to + 1] = -left
    if field[ATTACKS_LEFT] == 0 and not field[OVER]:
        end_turn(board, field)


@compiled
def attack(board: Any, field: Any, at: int, to: int, units: int) -> None:
    apply_battle(board, field, at, to, units, fight(field, units, field[to + 1], board[DICE]))


@entry
def apply_move(board: Any, field: Any, source: int, target: int, units: int, left: int) -> None:
    """Play a move. With a source and a target it is an attack, and `left` is its result, in the form that `fight`
    returns. With only a source it is a draft of `units`. With neither it ends the turn.
    """
    if target != NO_CELL:
        apply_battle(board, field, source, target, units, left)
    elif source != NO_CELL:
        place_units(field, source, units)
    else:
        end_turn(board, field)


@compiled
def write_first_place_shares(board: Any, field: Any, shares: Any) -> None:
    """Write each seat's share of first place in a finished game to `shares`: 1 for a sole winner, ½ for each of two."""
    best, winners = -1, 0
    for seat in range(board[SEATS]):
        shares[seat] = 0.0
        if field[IS_IN_GAME + seat]:
            units = 0
            for at in range(FIRST_CELL, FIRST_CELL + CELL_LENGTH * board[TERRITORY_COUNT], CELL_LENGTH):
                if field[at] == seat:
                    units += field[at + 1]
            shares[seat] = float(field[TERRITORIES_OF_SEAT + seat] * (1 << 32) + units)
            if shares[seat] > best:
                best, winners = int(shares[seat]), 0
            winners += shares[seat] == best
    for seat in range(board[SEATS]):
        shares[seat] = 1.0 / winners if field[IS_IN_GAME + seat] and shares[seat] == best else 0.0
