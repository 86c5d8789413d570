"""A Risk map and a position on it as flat arrays, `board` and `state`, for both games. `set_cell` makes and undoes
every change of a position. It keeps the counts and sums that an evaluation needs.

Everything is seen from the side of MAX, the seat that searches: every other owner is an enemy. All sums are integers,
so undoing a move restores them exactly, and no value depends on the path to its position.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from math import lcm
from typing import Any

from games.risk.evaluation import FEATURES_BOUND, breadth_first_pairs, unam_bound
from games.risk.rules.board import Board
from games.risk.rules.campaign import MAX_PLAYERS
from games.risk.rules.duel import NO_OWNER
from machine.compiled import compiled, entry, inlined, ints, zeros
from machine.generator import SECOND_SLOT
from machine.sums import sum_in_order

NO_EVALUATION, FEATURES, UNAM, OUTLOOK = range(4)
"""These numbers select an evaluation, as state[MODE]: NO_EVALUATION none, FEATURES the four features of
games/risk/measuring/features.py, UNAM `evaluate_unam`, OUTLOOK the outlook of campaign_evaluation.py. `set_cell`
keeps what the evaluation needs. The policies of campaigns (policies.py) need the same as OUTLOOK.
"""
MODES = {"none": NO_EVALUATION, "features": FEATURES, "unam": UNAM}
"""The number that selects an evaluation in a search (such as FEATURES), by the evaluation's name."""

FIRST_CELL, CELL_LENGTH = 36, 4
"""FIRST_CELL is the cell of the first territory, CELL_LENGTH the number of slots of a cell. A territory's cell is where
its slots begin, in `board` and `state` alike: FIRST_CELL + CELL_LENGTH * index. The searches know a territory only by
its cell."""

BORDER, BORDER_END, PER_NEIGHBOUR, BLOCK = range(4)
"""These are offsets in a territory's cell of `board`:

- BORDER: where the list of its neighbours' cells begins in `board`.
- BORDER_END: where the list of its neighbours' cells ends.
- PER_NEIGHBOUR: SHARE_UNIT // the number of its neighbours.
- BLOCK: where the block of its continent begins (see BLOCK_LENGTH).
"""
SIZE, BONUS, BLOCK_LENGTH = 0, 1, MAX_PLAYERS + 1
"""A continent has a block of slots at the same index of `board` and `state`. In `state`, slot n of a block is how many
of the continent's territories seat n holds, and the slot before it, at NO_OWNER, how many are free. The blocks follow
the cells; BLOCK_LENGTH is the distance from one to the next. SIZE and BONUS are offsets in a block of `board`:

- SIZE: the number of the continent's territories.
- BONUS: the continent's bonus.
"""
TERRITORY_COUNT, CELLS_END, BORDERS, BORDERS_END, BORDER_COUNT, SHARES, WALK = range(7)
"""These are the indices of `board` that are the same in both games. Each game's own rules use the indices from
FIRST_OWN_INDEX up to FIRST_CELL.

- TERRITORY_COUNT: the number of territories.
- CELLS_END: where the cells end. The first continent's block begins one slot later.
- BORDERS: where the blocks end and the list of the borders' target cells begins. A border counts twice, once in each
  direction.
- BORDERS_END: where that list ends and the list of the borders' source cells begins.
- BORDER_COUNT: the number of borders. If board[i] is a border's target cell, board[i + board[BORDER_COUNT]] is its
  source cell.
- SHARES: where a list begins whose item n is SHARE_UNIT // n: the weight of one of n enemy neighbours in a mean.
- WALK: where the list of the steps of `evaluate_unam` over the map begins. Each step is a pair of cells.
"""
FIRST_OWN_INDEX = 7
"""The first index of `board` that belongs to a game's own rules."""

OWNER, TROOPS, ENEMY_COUNT, ENEMY_SHARES = range(4)
"""These are offsets in a territory's cell of `state`:

- OWNER: the seat that owns the territory.
- TROOPS: the number of its troops.
- ENEMY_COUNT: the number of its enemy neighbours. With FEATURES, it counts only if MAX owns the territory; with
  OUTLOOK, it is kept for every territory; otherwise it is not kept.
- ENEMY_SHARES: with FEATURES, if MAX owns the territory: the sum over its enemy neighbours of its share of troops,
  own / (own + enemy).
"""
POSITION_BEGIN = SECOND_SLOT + 1
"""The index in `state` at which the position begins. Before it is the random generator (machine/generator.py) of the
dice, which only games with playouts use."""
SEAT, MODE, TURN, OVER, ALL_TROOPS, STRENGTH, EXPOSED, FREE_COUNT, TERRITORIES_OF_SEAT = range(
    POSITION_BEGIN, POSITION_BEGIN + 9
)
"""These are indices of `state`:

- SEAT: the seat that searches, called MAX.
- MODE: the number of the evaluation, such as FEATURES.
- TURN: the seat to move.
- OVER: whether the game is over. The searches of bounded Risk use neither TURN nor OVER.
- ALL_TROOPS: the number of all troops.
- STRENGTH: the sum of the strengths of MAX's territories, from which the feature `strength` is computed.
- EXPOSED: the sum, over MAX's territories, of the fraction of neighbours that are enemies. The feature `compactness` is
  computed from it.
- FREE_COUNT: the number of free territories. It is state[TERRITORIES_OF_SEAT + NO_OWNER].
- TERRITORIES_OF_SEAT: where the list of each seat's number of territories begins.
"""
TROOPS_OF_SEAT = TERRITORIES_OF_SEAT + MAX_PLAYERS
"""state[TROOPS_OF_SEAT + seat] is the number of a seat's troops. Free territories have none, so NO_OWNER is no
exception: it adds and subtracts 0."""
FIRST_OWN_SLOT = TROOPS_OF_SEAT + MAX_PLAYERS
"""The first index of `state` that belongs to a game's own rules. They use the indices up to FIRST_CELL."""

SHARE_BITS = 27
"""The number of binary digits of a share of troops, which is below 1 and stored as an integer."""
SHARE_UNIT = reduce(lcm, range(1, 23))
"""The integer that stands for 1 in fractions k/n, where n is a territory's number of neighbours or of enemy neighbours.
They are computed as k × (SHARE_UNIT // n). They are exact for n up to 22; for larger n, their error is at most 4e-7.
"""
SAFE_STRENGTH = SHARE_UNIT << SHARE_BITS
"""The integer that stands for strength 1. A territory without enemy neighbours has this strength."""
VALUE_WITHOUT_TERRITORY, BASE, PER_TERRITORY, PER_UNITS, PER_STRENGTH, PER_EXPOSED, PER_POINT = range(7)
"""These are indices of the array `scale`, which has the numbers by which an evaluation converts sums to MAX's value:

- VALUE_WITHOUT_TERRITORY: the value if MAX holds no territory.
- BASE: the value before the sums are added.
- PER_TERRITORY, PER_UNITS, PER_STRENGTH, PER_EXPOSED: the factors for the four features.
- PER_POINT: the factor for the score of `evaluate_unam`.
"""


def cell_of(territory: int) -> int:
    """Return the cell of the territory with this index: where its slots begin in `board` and `state`."""
    return FIRST_CELL + CELL_LENGTH * territory


@entry
def territory_of(cell: int) -> int:
    """Return the index of the territory with this cell."""
    return (cell - FIRST_CELL) // CELL_LENGTH


def board_values(board: Board) -> list[int]:
    """Return the values of the array `board` of a map. `ints` converts this list to the array. Before that, the
    rules of a game set the values at the indices from FIRST_OWN_INDEX up to FIRST_CELL, and may append values.
    """
    cells_end = cell_of(len(board))
    blocks = [cells_end + 1 + BLOCK_LENGTH * index for index in range(len(board.continents))]
    block_of = {at: block for block, members in zip(blocks, board.members, strict=True) for at in members}
    values = [0] * FIRST_CELL
    begin = borders = cells_end + BLOCK_LENGTH * len(blocks)
    for index, others in enumerate(board.neighbours):
        values += [begin, begin + len(others), SHARE_UNIT // len(others), block_of[index]]
        begin += len(others)
    for continent, members in zip(board.continents, board.members, strict=True):
        values += [0, len(members), continent.bonus, *[0] * (BLOCK_LENGTH - 3)]
    values += [cell_of(other) for others in board.neighbours for other in others]
    values += [cell_of(index) for index, others in enumerate(board.neighbours) for _ in others]
    values[TERRITORY_COUNT], values[CELLS_END] = len(board), cells_end
    values[BORDERS], values[BORDERS_END], values[BORDER_COUNT] = borders, begin, begin - borders
    values[SHARES] = len(values)
    values += [0, *(SHARE_UNIT // enemies for enemies in range(1, len(board)))]
    values[WALK] = len(values)
    values += map(cell_of, chain.from_iterable(breadth_first_pairs(board)))
    return values


def scale_values(board: Board, weights: Sequence[float], opinion: float, max_troops: int = 0) -> list[float]:
    """Return the values of the array `scale` (see VALUE_WITHOUT_TERRITORY). `floats` converts this list to the array.

    `weights` are those of the four features. `opinion` is the value that a search gives to a position that is evaluated
    as 1. Only `evaluate_unam` needs `max_troops`.
    """
    stretch = opinion * FEATURES_BOUND
    total = sum_in_order(weights) or 1.0
    territories, units, strength, compactness = (2 * stretch * weight / total for weight in weights)
    return [
        -stretch,
        compactness - stretch,
        territories / len(board),
        units,
        strength / SAFE_STRENGTH,
        compactness / SHARE_UNIT,
        opinion / unam_bound(board, max_troops),
    ]


@compiled
def weigh_features(scale: Any, owned: int, army: int, troops: int, strength: int, exposed: int) -> float:
    """Return the value of a position for MAX, the seat that searches, by the four features. The other arguments are
    sums in `state`: MAX's territories and troops, all troops, and the sums STRENGTH and EXPOSED.
    """
    if owned == 0:
        return scale[VALUE_WITHOUT_TERRITORY]  # type: ignore[no-any-return]
    return (  # type: ignore[no-any-return]
        scale[BASE]
        + scale[PER_TERRITORY] * owned
        + scale[PER_UNITS] * (army / troops)
        + (scale[PER_STRENGTH] * strength - scale[PER_EXPOSED] * exposed) / owned
    )


@compiled
def evaluate_unam(board: Any, state: Any, scale: Any) -> float:
    """Return the value for MAX by the evaluation invadeReforzaAtaca of Prieto et al. 2014. The score is a sum over the
    steps of a breadth-first walk over the map (`breadth_first_pairs`). scale[PER_POINT] divides it by an upper bound on
    its absolute value.
    """
    seat = state[SEAT]
    score = 0
    begin = board[WALK]
    for i in range(begin, begin + 2 * board[TERRITORY_COUNT], 2):
        v, u = board[i], board[i + 1]
        whose = state[u + OWNER]
        if whose == NO_OWNER:
            degree = board[u + BORDER_END] - board[u + BORDER]
            if score < degree:
                score += degree
        elif whose == seat:
            score += state[u + TROOPS] + 1
        else:
            score -= state[u + TROOPS] + 1
            if state[v + OWNER] == seat:
                score -= 2
        if state[v + TROOPS] > state[u + TROOPS]:
            score += 1
        elif state[v + TROOPS] < state[u + TROOPS]:
            score -= 1
    return score * scale[PER_POINT]  # type: ignore[no-any-return]


@entry
def evaluate(board: Any, state: Any, scale: Any) -> float:
    """Return the value for MAX of an unfinished position, by the evaluation that state[MODE] selects."""
    if state[MODE] == FEATURES:
        seat = state[SEAT]
        owned, army = state[TERRITORIES_OF_SEAT + seat], state[TROOPS_OF_SEAT + seat]
        return weigh_features(scale, owned, army, state[ALL_TROOPS], state[STRENGTH], state[EXPOSED])
    if state[MODE] == UNAM:
        return evaluate_unam(board, state, scale)
    return 0.0


@compiled
def change_owner(board: Any, state: Any, at: int, owner: int) -> None:
    """Give the territory at cell `at` to another owner, with OUTLOOK. Giving it back undoes the change. All counts are
    kept up to date but those of troops.
    """
    was, enemies = state[at + OWNER], 0
    state[at + OWNER] = owner
    for i in range(board[at + BORDER], board[at + BORDER_END]):
        other = board[i]
        holder = state[other + OWNER]
        if holder == owner:
            state[other + ENEMY_COUNT] -= 1
        else:
            enemies += 1
            if holder == was:
                state[other + ENEMY_COUNT] += 1
    state[at + ENEMY_COUNT] = enemies
    block = board[at + BLOCK]
    state[TERRITORIES_OF_SEAT + was] -= 1
    state[TERRITORIES_OF_SEAT + owner] += 1
    state[block + was] -= 1
    state[block + owner] += 1


@compiled
def set_cell(board: Any, state: Any, at: int, owner: int, troops: int) -> None:
    """Set the owner and troops of the territory at cell `at`; NO_OWNER and 0 free it. Setting the old values again
    undoes the change.
    """
    was, before = state[at + OWNER], state[at + TROOPS]
    state[at + TROOPS] = troops
    state[ALL_TROOPS] += troops - before
    state[TROOPS_OF_SEAT + was] -= before
    state[TROOPS_OF_SEAT + owner] += troops
    if owner != was:
        if state[MODE] == OUTLOOK:
            change_owner(board, state, at, owner)
        else:
            block = board[at + BLOCK]
            state[at + OWNER] = owner
            state[TERRITORIES_OF_SEAT + was] -= 1
            state[TERRITORIES_OF_SEAT + owner] += 1
            state[block + was] -= 1
            state[block + owner] += 1
    if state[MODE] == FEATURES:
        _update_border_sums(board, state, at, was, before)


@inlined
def _update_border_sums(board: Any, state: Any, at: int, was: int, before: int) -> None:
    """Update the sums over enemy neighbours, from which features are computed, after a change of the cell `at`. Before
    the change, it belonged to `was` and had `before` troops.
    """
    seat, shares = state[SEAT], board[SHARES]
    owner, troops = state[at + OWNER], state[at + TROOPS]
    strength, exposed = state[STRENGTH], state[EXPOSED]
    enemies, against = state[at + ENEMY_COUNT], state[at + ENEMY_SHARES]
    if was == seat:
        strength -= against * board[shares + enemies] if enemies else SAFE_STRENGTH
        exposed -= enemies * board[at + PER_NEIGHBOUR]
    hostile, was_hostile = owner != seat and owner != NO_OWNER, was != seat and was != NO_OWNER
    enemies = against = 0
    for i in range(board[at + BORDER], board[at + BORDER_END]):
        y = board[i]
        whose = state[y + OWNER]
        if whose == seat:
            if hostile or was_hostile:
                own, facing, held = state[y + TROOPS], state[y + ENEMY_COUNT], state[y + ENEMY_SHARES]
                strength -= held * board[shares + facing] if facing else SAFE_STRENGTH
                exposed -= facing * board[y + PER_NEIGHBOUR]
                if was_hostile:
                    held -= (own << SHARE_BITS) // (own + before)
                    facing -= 1
                if hostile:
                    held += (own << SHARE_BITS) // (own + troops)
                    facing += 1
                strength += held * board[shares + facing] if facing else SAFE_STRENGTH
                exposed += facing * board[y + PER_NEIGHBOUR]
                state[y + ENEMY_COUNT], state[y + ENEMY_SHARES] = facing, held
        elif owner == seat and whose != NO_OWNER:
            against += (troops << SHARE_BITS) // (troops + state[y + TROOPS])
            enemies += 1
    if owner == seat:
        strength += against * board[shares + enemies] if enemies else SAFE_STRENGTH
        exposed += enemies * board[at + PER_NEIGHBOUR]
    state[at + ENEMY_COUNT], state[at + ENEMY_SHARES] = enemies, against
    state[STRENGTH], state[EXPOSED] = strength, exposed


@entry
def _set_position(board: Any, state: Any, owner: Any, troops: Any) -> None:
    state[FREE_COUNT] = board[TERRITORY_COUNT]
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        state[at + OWNER] = NO_OWNER
    for i in range(board[TERRITORY_COUNT]):
        set_cell(board, state, FIRST_CELL + CELL_LENGTH * i, owner[i], troops[i])


def make_state(board: Any, position: Any, seat: int, mode: int) -> Any:
    """Return the owners and troops of a position as an array, seen from `seat`."""
    state = zeros(int(board[BORDERS]))
    state[SEAT], state[MODE] = seat, mode
    _set_position(board, state, ints(position.owner), ints(position.troops))
    return state


@compiled
def evaluate_change(board: Any, state: Any, scale: Any, at: int, owner: int, troops: int) -> float:
    """Return what `evaluate` would return after `set_cell` with the same arguments, and leave the state unchanged.

    The code repeats that of `_update_border_sums` and `evaluate` without writing, because nine in ten positions of a
    search are leaves.
    """
    was, before = state[at], state[at + 1]
    if state[MODE] != FEATURES:
        state[at], state[at + 1] = owner, troops
        found = evaluate_unam(board, state, scale) if state[MODE] == UNAM else 0.0
        state[at], state[at + 1] = was, before
        return found
    seat, shares = state[SEAT], board[SHARES]
    owned, army = state[TERRITORIES_OF_SEAT + seat], state[TROOPS_OF_SEAT + seat]
    strength, exposed = state[STRENGTH], state[EXPOSED]
    if was == seat:
        enemies = state[at + 2]
        strength -= state[at + 3] * board[shares + enemies] if enemies else SAFE_STRENGTH
        exposed -= enemies * board[at + 2]
        owned -= 1
        army -= before
    hostile, was_hostile = owner != seat and owner != NO_OWNER, was != seat and was != NO_OWNER
    mine = owner == seat
    enemies = against = 0
    for i in range(board[at], board[at + 1]):
        y = board[i]
        whose = state[y]
        if whose == seat:
            if was_hostile:
                own, facing, held = state[y + 1], state[y + 2], state[y + 3]
                strength -= held * board[shares + facing]
                held -= (own << SHARE_BITS) // (own + before)
                if hostile:
                    held += (own << SHARE_BITS) // (own + troops)
                    strength += held * board[shares + facing]
                else:
                    strength += held * board[shares + facing - 1] if facing > 1 else SAFE_STRENGTH
                    exposed -= board[y + 2]
            elif hostile:
                own, facing, held = state[y + 1], state[y + 2], state[y + 3]
                strength -= held * board[shares + facing] if facing else SAFE_STRENGTH
                held += (own << SHARE_BITS) // (own + troops)
                strength += held * board[shares + facing + 1]
                exposed += board[y + 2]
        elif mine and whose != NO_OWNER:
            against += (troops << SHARE_BITS) // (troops + state[y + 1])
            enemies += 1
    if mine:
        strength += against * board[shares + enemies] if enemies else SAFE_STRENGTH
        exposed += enemies * board[at + 2]
        owned += 1
        army += troops
    return weigh_features(scale, owned, army, state[ALL_TROOPS] + troops - before, strength, exposed)
