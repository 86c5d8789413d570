"""The rules of bounded Risk on the flat arrays of flat_position.py: the map and rules, `board`, and the moves.

A move is one number: the cell to invade or reinforce, or the index in `board` of the border to attack across.
"""

from __future__ import annotations

from typing import Any

from bots.search.base import DEFAULT_MAX_DEPTH
from games.risk.rules import duel
from games.risk.rules.duel import NO_OWNER, Action, Duel, Position
from games.risk.search.flat_position import (
    BORDER_COUNT,
    BORDERS,
    CELL_LENGTH,
    CELLS_END,
    FIRST_CELL,
    FIRST_OWN_INDEX,
    FREE_COUNT,
    TERRITORY_COUNT,
    board_values,
    cell_of,
    set_cell,
    territory_of,
)
from games.risk.search.work_buffers import make_random_numbers
from machine.compiled import compiled
from machine.generator import DRAW_RANGE, draw

REINFORCEMENT = duel.REINFORCEMENT_TROOPS
"""The number of troops that a reinforcement adds."""
SUCCESS_PROBABILITY = float(duel.WIN_PROBABILITY)
"""The probability that an attack in bounded Risk takes the territory, as a float. `duel.WIN_PROBABILITY` is the exact
fraction.
"""
FAILURE_PROBABILITY = float(1 - duel.WIN_PROBABILITY)
"""The probability that an attack fails."""
_SUCCESS_THRESHOLD = int(duel.WIN_PROBABILITY * DRAW_RANGE)
"""The exclusive upper bound of the random numbers with which an attack takes the territory."""

ORDER, MAX_TROOPS, MAX_PLIES, MAX_MOVES, ZOBRIST, ARMIES = range(FIRST_OWN_INDEX, FIRST_OWN_INDEX + 6)
"""These are the indices of `board` that only bounded Risk has:

- ORDER: where the list of all cells begins, those with most neighbours first.
- MAX_TROOPS: the maximum number of troops of a territory.
- MAX_PLIES: the maximum number of plies of a game.
- MAX_MOVES: the maximum number of moves in a position.
- ZOBRIST: where the random numbers of search keys begin, by territory, seat and troops, then by ply.
- ARMIES: where a list begins whose item n is the number of troops that an invasion places if n territories are free.
"""


def duel_board(rules: Duel) -> list[int]:
    """Return the values of the array `board` of bounded Risk (games/risk/rules/duel.py). `ints` converts this list to
    the array.
    """
    map_ = rules.map
    values = board_values(map_)
    values[ORDER] = len(values)
    values += map(cell_of, sorted(range(len(map_)), key=lambda index: -len(map_.neighbours[index])))
    values[MAX_TROOPS], values[MAX_PLIES] = rules.max_troops, rules.max_plies
    values[MAX_MOVES] = len(map_) + values[BORDER_COUNT]
    values[ZOBRIST] = len(values)
    values += make_random_numbers(2 * len(map_) * (rules.max_troops + 1) + DEFAULT_MAX_DEPTH + 1)
    values[ARMIES] = len(values)
    values += map(rules.invasion_troops, range(len(map_) + 1))
    return values


@compiled
def list_moves(board: Any, state: Any, moves: Any, mover: int, begin: int) -> int:
    """Write the legal moves to `moves` from `begin` on. Return where they end."""
    end = begin
    if state[FREE_COUNT]:
        for i in range(board[ORDER], board[ORDER] + board[TERRITORY_COUNT]):
            if state[board[i]] == NO_OWNER:
                moves[end] = board[i]
                end += 1
        return end
    most = board[MAX_TROOPS]
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        if state[at] == mover and state[at + 1] < most:
            moves[end] = at
            end += 1
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        if state[at] == mover:
            for i in range(board[at], board[at + 1]):
                if state[board[i]] != mover and state[at + 1] >= state[board[i] + 1]:
                    moves[end] = i
                    end += 1
    return end


@compiled
def troops_placed(board: Any, state: Any, at: int) -> int:
    """Return the troops of the territory at cell `at` after the mover invades or reinforces it."""
    if state[FREE_COUNT]:
        return board[board[ARMIES] + state[FREE_COUNT]]  # type: ignore[no-any-return]
    return min(state[at + 1] + REINFORCEMENT, board[MAX_TROOPS])  # type: ignore[no-any-return]


@compiled
def play_move(board: Any, state: Any, rng: Any, mover: int, move: int) -> int:
    """Play a move. Return 1 if it is an attack that succeeds, else 0."""
    if move < board[BORDERS]:
        set_cell(board, state, move, mover, troops_placed(board, state, move))
        return 0
    source, to = board[move + board[BORDER_COUNT]], board[move]
    if draw(rng) < _SUCCESS_THRESHOLD:
        set_cell(board, state, to, mover, 1)
        return 1
    rest = state[source + 1] - state[to + 1]
    set_cell(board, state, source, mover if rest else NO_OWNER, rest)
    return 0


@compiled
def hash_at(board: Any, at: int, owner: int, troops: int) -> int:
    """Return what the territory at cell `at`, with this owner and these troops, contributes to the search key."""
    if owner == NO_OWNER:
        return 0
    return board[board[ZOBRIST] + (2 * territory_of(at) + owner) * (board[MAX_TROOPS] + 1) + troops]  # type: ignore[no-any-return]


@compiled
def hash_ply(board: Any, ply: int) -> int:
    """Return what the ply contributes to the search key. A stored value holds at one ply only: the value of a win
    depends on its ply, and a mean over results of attacks cannot be corrected for another ply.
    """
    return board[board[ZOBRIST] + 2 * board[TERRITORY_COUNT] * (board[MAX_TROOPS] + 1) + ply]  # type: ignore[no-any-return]


def decode_move(board: list[int], position: Position, move: int) -> Action:
    """Convert a move number to an action of the rules. `board` is what `duel_board` returned."""
    if move < board[BORDERS]:
        return Action("invade" if NO_OWNER in position.owner else "reinforce", territory_of(move))
    return Action("attack", territory_of(board[move]), territory_of(board[move + board[BORDER_COUNT]]))
