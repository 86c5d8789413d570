"""A Risk map and a position on it as flat arrays; `put` and `peek` keep the sums that an evaluation needs.

Everything is written from MAX's side, the seat that searches: every other owner is an enemy. All sums are integers,
so that taking back a move restores them exactly and no value depends on the way to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from math import lcm
from typing import Any

from bots.evaluation.risk import WITHIN, unam_bound, walk
from machine.compiled import compiled, entry, ints, zeros
from protocol.games.risk.board import Board
from protocol.games.risk.campaign import MOST_PLAYERS
from protocol.games.risk.duel import FREE

NONE, FEATURES, UNAM = 0, 1, 2
"""The evaluations, as `state[MODE]`."""
MODES = {"none": NONE, "features": FEATURES, "unam": UNAM}

ROWS, WIDTH = 24, 4
"""A territory's cell is ROWS + WIDTH * index, in `board` and `state` alike; it stands for the territory everywhere."""

# board[cell]: where its neighbours begin in `board`; +1: where they end; +2: UNIT // their number; +3: its index.
BORDER, BORDER_END, PER_NEIGHBOUR, INDEX = 0, 1, 2, 3
TERRITORIES, SHARES, WALK = 0, 1, 2
"""board[TERRITORIES] is how many there are; [SHARES] where UNIT // n is found for n enemies; [WALK] where the pairs of
cells of `unam` begin. The header's slots from 4 on are the game's own."""

# state[cell]: its owner; +1: troops; where it is MAX's, +2: enemy neighbours, +3: the sum of its shares against them.
OWNER, TROOPS, ENEMIES, AGAINST = 0, 1, 2, 3
SEAT, MODE, EMPTY, UNITS, STRENGTH, EXPOSED, OWNED = range(7)
ARMY = OWNED + MOST_PLAYERS
"""state[SEAT] is MAX; [EMPTY] the free territories; [UNITS] all troops; [STRENGTH] and [EXPOSED] the sums behind the
third and fourth feature; [OWNED + seat] and [ARMY + seat] a seat's territories and troops."""

BITS = 27
UNIT = reduce(lcm, range(1, 23))
"""A share of one among up to 22 neighbours is exact in this unit; beyond, to within 4e-7."""
FULL = UNIT << BITS
"""The strength of a territory without enemy neighbours."""
LOWEST, BASE, PER_TERRITORY, PER_UNITS, PER_STRENGTH, PER_EXPOSED, PER_POINT = range(7)
"""What `scale` holds: LOWEST is MAX's value without a territory, PER_POINT what a point of `unam` is worth."""


def cell(territory: int) -> int:
    """Where a territory is found in `board` and `state`."""
    return ROWS + WIDTH * territory


def board_values(map_: Board) -> list[int]:
    """The map, for `ints`; a game may append to it and fill its slots of the header first."""
    count = len(map_)
    borders = [[cell(other) for other in others] for others in map_.neighbours]
    values = [0] * ROWS
    begin = ROWS + WIDTH * count
    for index, others in enumerate(borders):
        values += [begin, begin + len(others), UNIT // len(others), index]
        begin += len(others)
    values += chain.from_iterable(borders)
    values[TERRITORIES] = count
    values[SHARES] = len(values)
    values += [0, *(UNIT // enemies for enemies in range(1, count))]
    values[WALK] = len(values)
    values += map(cell, chain.from_iterable(walk(map_)))
    return values


def scale_values(map_: Board, weights: Sequence[float], opinion: float, max_troops: int = 0) -> list[float]:
    """How sums become a value, for `floats`: `weights` of the four features, `opinion` the value of an evaluation of 1.

    `max_troops` is needed for `unam` only.
    """
    stretch = opinion * WITHIN
    territories, units, strength, compactness = (2 * stretch * weight / (sum(weights) or 1.0) for weight in weights)
    return [
        -stretch,
        compactness - stretch,
        territories / len(map_),
        units,
        strength / FULL,
        compactness / UNIT,
        opinion / unam_bound(map_, max_troops),
    ]


@compiled
def features(scale: Any, owned: int, army: int, units: int, strength: int, exposed: int) -> float:
    """The features of MAX, weighed, from these sums."""
    if owned == 0:
        return scale[LOWEST]  # type: ignore[no-any-return]
    return (  # type: ignore[no-any-return]
        scale[BASE]
        + scale[PER_TERRITORY] * owned
        + scale[PER_UNITS] * (army / units)
        + (scale[PER_STRENGTH] * strength - scale[PER_EXPOSED] * exposed) / owned
    )


@compiled
def unam(board: Any, state: Any, scale: Any) -> float:
    """The score of the walk (Prieto et al. 2014, invadeReforzaAtaca), as a share of its bound."""
    seat = state[SEAT]
    score = 0
    begin = board[WALK]
    for i in range(begin, begin + 2 * board[TERRITORIES], 2):
        v, u = board[i], board[i + 1]
        whose = state[u + OWNER]
        if whose == FREE:
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
def estimate(board: Any, state: Any, scale: Any) -> float:
    """The value of an unfinished position by the evaluation of `state[MODE]`."""
    if state[MODE] == FEATURES:
        seat = state[SEAT]
        owned, army = state[OWNED + seat], state[ARMY + seat]
        return features(scale, owned, army, state[UNITS], state[STRENGTH], state[EXPOSED])
    if state[MODE] == UNAM:
        return unam(board, state, scale)
    return 0.0


@compiled
def put(board: Any, state: Any, at: int, owner: int, troops: int) -> None:
    """Give the cell `at` an owner and troops (FREE and 0: nobody's); the same with the old ones takes it back."""
    was, before = state[at + OWNER], state[at + TROOPS]
    state[at + OWNER], state[at + TROOPS] = owner, troops
    state[UNITS] += troops - before
    if was == FREE:
        state[EMPTY] -= 1
    else:
        state[OWNED + was] -= 1
        state[ARMY + was] -= before
    if owner == FREE:
        state[EMPTY] += 1
    else:
        state[OWNED + owner] += 1
        state[ARMY + owner] += troops
    if state[MODE] == FEATURES:
        _draw_borders(board, state, at, was, before)


@compiled
def _draw_borders(board: Any, state: Any, at: int, was: int, before: int) -> None:
    """The sums along the borders of a cell that was `was`'s with `before` troops."""
    seat, shares = state[SEAT], board[SHARES]
    owner, troops = state[at + OWNER], state[at + TROOPS]
    strength, exposed = state[STRENGTH], state[EXPOSED]
    enemies, against = state[at + ENEMIES], state[at + AGAINST]
    if was == seat:
        strength -= against * board[shares + enemies] if enemies else FULL
        exposed -= enemies * board[at + PER_NEIGHBOUR]
    hostile, was_hostile = owner != seat and owner != FREE, was != seat and was != FREE
    enemies = against = 0
    for i in range(board[at + BORDER], board[at + BORDER_END]):
        y = board[i]
        whose = state[y + OWNER]
        if whose == seat:
            if hostile or was_hostile:
                own, facing, held = state[y + TROOPS], state[y + ENEMIES], state[y + AGAINST]
                strength -= held * board[shares + facing] if facing else FULL
                exposed -= facing * board[y + PER_NEIGHBOUR]
                if was_hostile:
                    held -= (own << BITS) // (own + before)
                    facing -= 1
                if hostile:
                    held += (own << BITS) // (own + troops)
                    facing += 1
                strength += held * board[shares + facing] if facing else FULL
                exposed += facing * board[y + PER_NEIGHBOUR]
                state[y + ENEMIES], state[y + AGAINST] = facing, held
        elif owner == seat and whose != FREE:
            against += (troops << BITS) // (troops + state[y + TROOPS])
            enemies += 1
    if owner == seat:
        strength += against * board[shares + enemies] if enemies else FULL
        exposed += enemies * board[at + PER_NEIGHBOUR]
    state[at + ENEMIES], state[at + AGAINST] = enemies, against
    state[STRENGTH], state[EXPOSED] = strength, exposed


@entry
def _fill(board: Any, state: Any, owner: Any, troops: Any) -> None:
    """Make the map empty, then put there what each territory has."""
    territories = board[TERRITORIES]
    state[EMPTY] = territories
    for i in range(territories):
        state[ROWS + WIDTH * i] = FREE
    for i in range(territories):
        put(board, state, ROWS + WIDTH * i, owner[i], troops[i])


def state_of(board: Any, position: Any, seat: int, mode: int) -> Any:
    """The owners and troops of a position, seen from `seat`."""
    state = zeros(cell(board[TERRITORIES]))
    state[SEAT], state[MODE] = seat, mode
    _fill(board, state, ints(position.owner), ints(position.troops))
    return state


@compiled
def peek(board: Any, state: Any, scale: Any, at: int, owner: int, troops: int) -> float:
    """What `estimate` would be after `put` of the same; nothing is changed.

    `_draw_borders` and `estimate` without a trace: nine in ten positions of a search are only looked at.
    """
    was, before = state[at], state[at + 1]
    if state[MODE] != FEATURES:
        state[at], state[at + 1] = owner, troops
        found = unam(board, state, scale) if state[MODE] == UNAM else 0.0
        state[at], state[at + 1] = was, before
        return found
    seat, shares = state[SEAT], board[SHARES]
    owned, army = state[OWNED + seat], state[ARMY + seat]
    strength, exposed = state[STRENGTH], state[EXPOSED]
    if was == seat:
        enemies = state[at + 2]
        strength -= state[at + 3] * board[shares + enemies] if enemies else FULL
        exposed -= enemies * board[at + 2]
        owned -= 1
        army -= before
    hostile, was_hostile = owner != seat and owner != FREE, was != seat and was != FREE
    mine = owner == seat
    enemies = against = 0
    for i in range(board[at], board[at + 1]):
        y = board[i]
        whose = state[y]
        if whose == seat:
            if was_hostile:
                own, facing, held = state[y + 1], state[y + 2], state[y + 3]
                strength -= held * board[shares + facing]
                held -= (own << BITS) // (own + before)
                if hostile:
                    held += (own << BITS) // (own + troops)
                    strength += held * board[shares + facing]
                else:
                    strength += held * board[shares + facing - 1] if facing > 1 else FULL
                    exposed -= board[y + 2]
            elif hostile:
                own, facing, held = state[y + 1], state[y + 2], state[y + 3]
                strength -= held * board[shares + facing] if facing else FULL
                held += (own << BITS) // (own + troops)
                strength += held * board[shares + facing + 1]
                exposed += board[y + 2]
        elif mine and whose != FREE:
            against += (troops << BITS) // (troops + state[y + 1])
            enemies += 1
    if mine:
        strength += against * board[shares + enemies] if enemies else FULL
        exposed += enemies * board[at + 2]
        owned += 1
        army += troops
    return features(scale, owned, army, state[UNITS] + troops - before, strength, exposed)
