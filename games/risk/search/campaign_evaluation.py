"""Evaluations of a campaign on the array `state`: the outlook of games/risk/evaluation.py, and the four features."""

from __future__ import annotations

from typing import Any

from games.risk.evaluation import FEATURES_BOUND, TEMPO_FACTOR
from games.risk.search.flat_campaign import CLASSIC, IS_IN_GAME, SEATS, income
from games.risk.search.flat_position import (
    ALL_TROOPS,
    BLOCK_LENGTH,
    BONUS,
    BORDERS,
    CELL_LENGTH,
    CELLS_END,
    ENEMY_COUNT,
    FEATURES,
    FIRST_CELL,
    NO_EVALUATION,
    SIZE,
    TERRITORIES_OF_SEAT,
    TERRITORY_COUNT,
    TROOPS_OF_SEAT,
    TURN,
)
from machine.compiled import compiled

_IDLE, _DANGER, _ARMY, _INCOME, _PROGRESS, _LAND = range(6)
"""These are the indices of the weights of the evaluation `outlook` in the array of its weights."""


@compiled
def _continent_progress(board: Any, state: Any, seat: int) -> float:
    """Return the sum over continents of the bonus times the square of the seat's fraction of the continent."""
    found = 0.0
    for block in range(board[CELLS_END] + 1, board[BORDERS], BLOCK_LENGTH):
        share = state[block + seat] / board[block + SIZE]
        found += board[block + BONUS] * share * share
    return found


@compiled
def outlook(board: Any, state: Any, weights: Any, strengths: Any, seat: int) -> float:
    """Return a seat's fraction of the sum of all seats' strengths. `strengths` is scratch space of one float a seat."""
    for each in range(board[SEATS]):
        strengths[each] = 0.0
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        owner, troops = state[at], state[at + 1]
        if not state[at + ENEMY_COUNT]:
            strengths[owner] += 0.1 * weights[_IDLE] * troops
            continue
        above = 0
        for i in range(board[at], board[at + 1]):
            if state[board[i]] != owner and state[board[i] + 1] - troops > above:
                above = state[board[i] + 1] - troops
        strengths[owner] += troops - 0.1 * weights[_DANGER] * min(above, troops)
    total = 0.0
    for each in range(board[SEATS]):
        found = 0.0
        if state[IS_IN_GAME + each]:
            land = state[TERRITORIES_OF_SEAT + each] + weights[_INCOME] * income(board, state, each)
            if board[CLASSIC]:
                land += weights[_PROGRESS] * _continent_progress(board, state, each)
            found = max(0.1, strengths[each]) ** (weights[_ARMY] / 5) * land ** (2 * weights[_LAND])
            if state[TURN] == each:
                found *= TEMPO_FACTOR
        strengths[each] = found
        total += found
    return strengths[seat] / total  # type: ignore[no-any-return]


@compiled
def features(board: Any, state: Any, weights: Any, seat: int) -> float:
    """Return the weighted mean of the four features (games/risk/measuring/features.py), from 0 to 1."""
    strength = game_openness = 0.0
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        troops = state[at + 1]
        if state[at] != seat:
            continue
        if not state[at + ENEMY_COUNT]:
            strength += 1.0
            continue
        shares = 0.0
        for i in range(board[at], board[at + 1]):
            if state[board[i]] != seat:
                shares += troops / (troops + state[board[i] + 1])
        strength += shares / state[at + ENEMY_COUNT]
        game_openness += state[at + ENEMY_COUNT] / (board[at + 1] - board[at])
    held = state[TERRITORIES_OF_SEAT + seat]
    if not held:
        return 0.0
    found = weights[0] * held / board[TERRITORY_COUNT] + weights[1] * state[TROOPS_OF_SEAT + seat] / state[ALL_TROOPS]
    found += weights[2] * strength / held + weights[3] * (1.0 - game_openness / held)
    return found / (weights[0] + weights[1] + weights[2] + weights[3])  # type: ignore[no-any-return]


@compiled
def evaluate(board: Any, state: Any, weights: Any, strong: Any, seat: int, mode: int) -> float:
    """Return the value of an unfinished position, from −1 to 1, by the evaluation that the number `mode` selects."""
    if mode == NO_EVALUATION:
        return 0.0
    share = features(board, state, weights, seat) if mode == FEATURES else outlook(board, state, weights, strong, seat)
    return FEATURES_BOUND * (2.0 * share - 1.0)
