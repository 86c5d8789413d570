"""Evaluations of a campaign on the array `field`: the outlook of games/risk/evaluation.py, and the four features."""

from __future__ import annotations

from typing import Any

from games.risk.evaluation import FEATURES_BOUND, TEMPO_FACTOR
from games.risk.search.campaign_board import CLASSIC, SEATS
from games.risk.search.field import (
    BLOCK_WIDTH,
    BLOCKS,
    BONUS,
    CONTINENT_COUNT,
    FOES,
    IS_IN_GAME,
    SIZE,
    TERRITORIES_OF_SEAT,
    TURN,
    income,
)
from games.risk.search.flat_position import CELL_LENGTH, FEATURES, FIRST_CELL, NO_EVALUATION, TERRITORY_COUNT
from machine.compiled import compiled

OUTLOOK = 3
"""The number that selects the evaluation `outlook`. flat_position.py has the numbers of the other evaluations."""
_IDLE, _DANGER, _ARMY, _INCOME, _PROGRESS, _LAND = range(6)
"""These are the indices of the weights of the evaluation `outlook` in the array of its weights."""


@compiled
def _continent_progress(field: Any, seat: int) -> float:
    """Return the sum over continents of the bonus times the square of the seat's fraction of the continent."""
    found = 0.0
    for i in range(field[CONTINENT_COUNT]):
        block = field[BLOCKS] + i * BLOCK_WIDTH
        share = field[block + seat] / field[block + SIZE]
        found += field[block + BONUS] * share * share
    return found


@compiled
def outlook(board: Any, field: Any, weights: Any, strengths: Any, seat: int) -> float:
    """Return a seat's fraction of the sum of all seats' strengths. `strengths` is scratch space of one float a seat."""
    for each in range(board[SEATS]):
        strengths[each] = 0.0
    for at in range(FIRST_CELL, FIRST_CELL + CELL_LENGTH * board[TERRITORY_COUNT], CELL_LENGTH):
        owner, troops = field[at], field[at + 1]
        if not field[at + FOES]:
            strengths[owner] += 0.1 * weights[_IDLE] * troops
            continue
        above = 0
        for i in range(board[at], board[at + 1]):
            if field[board[i]] != owner and field[board[i] + 1] - troops > above:
                above = field[board[i] + 1] - troops
        strengths[owner] += troops - 0.1 * weights[_DANGER] * min(above, troops)
    total = 0.0
    for each in range(board[SEATS]):
        found = 0.0
        if field[IS_IN_GAME + each]:
            land = field[TERRITORIES_OF_SEAT + each] + weights[_INCOME] * income(board, field, each)
            if board[CLASSIC]:
                land += weights[_PROGRESS] * _continent_progress(field, each)
            found = max(0.1, strengths[each]) ** (weights[_ARMY] / 5) * land ** (2 * weights[_LAND])
            if field[TURN] == each:
                found *= TEMPO_FACTOR
        strengths[each] = found
        total += found
    return strengths[seat] / total  # type: ignore[no-any-return]


@compiled
def features(board: Any, field: Any, weights: Any, seat: int) -> float:
    """Return the weighted mean of the four features (games/risk/measuring/features.py), from 0 to 1."""
    army = units = 0
    strength = game_openness = 0.0
    for at in range(FIRST_CELL, FIRST_CELL + CELL_LENGTH * board[TERRITORY_COUNT], CELL_LENGTH):
        troops = field[at + 1]
        units += troops
        if field[at] != seat:
            continue
        army += troops
        if not field[at + FOES]:
            strength += 1.0
            continue
        shares = 0.0
        for i in range(board[at], board[at + 1]):
            if field[board[i]] != seat:
                shares += troops / (troops + field[board[i] + 1])
        strength += shares / field[at + FOES]
        game_openness += field[at + FOES] / (board[at + 1] - board[at])
    held = field[TERRITORIES_OF_SEAT + seat]
    if not held:
        return 0.0
    found = weights[0] * held / board[TERRITORY_COUNT] + weights[1] * army / units
    found += weights[2] * strength / held + weights[3] * (1.0 - game_openness / held)
    return found / (weights[0] + weights[1] + weights[2] + weights[3])  # type: ignore[no-any-return]


@compiled
def evaluate(board: Any, field: Any, weights: Any, strong: Any, seat: int, mode: int) -> float:
    """Return the value of an unfinished position, from −1 to 1, by the evaluation that the number `mode` selects."""
    if mode == NO_EVALUATION:
        return 0.0
    share = features(board, field, weights, seat) if mode == FEATURES else outlook(board, field, weights, strong, seat)
    return FEATURES_BOUND * (2.0 * share - 1.0)
