"""Bounded Risk on flat arrays: its moves and their results, expectiminimax and perft. The search's shell is in duel.py.

A move is one number: the cell to invade or reinforce, or the place in `board` of the border to attack across.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from bots.evaluation.base import WIN
from bots.search.iterative_deepening import DEEPEST as DEEPEST_SEARCH
from bots.search.risk.flat_position import (
    EMPTY,
    OWNED,
    ROWS,
    SEAT,
    TERRITORIES,
    WIDTH,
    board_values,
    cell,
    peek,
    put,
)
from bots.search.risk.work_buffers import (
    BUDGET,
    DEEPEST,
    ESTIMATES,
    LEAVES,
    LINE,
    LINES,
    NODES,
    OWN,
    STOP,
    keep_line,
    note_end,
    random_numbers,
)
from machine.compiled import compiled, entry, zeros
from protocol.games.risk import duel
from protocol.games.risk.duel import FREE

INVADERS, REINFORCEMENT = duel.ARMY, duel.REINFORCEMENT
TAKEN = float(duel.TAKEN)
REPELLED = float(1 - duel.TAKEN)
INFINITY = float("inf")

BORDERS, SOURCES, ORDER, MAX_TROOPS, MAX_PLIES, MOST_MOVES, CODES, ZOBRIST = 4, 5, 6, 7, 8, 9, 10, 11
"""board[BORDERS]: where the borders begin; [SOURCES]: how far beyond a border the cell that it leads from is found;
[ORDER]: where the cells begin by degree; [CODES]: above every number of a move; [ZOBRIST]: where the random numbers
begin, by territory, seat and troops, then by ply."""
BOUND = 7
"""scale[BOUND]: no evaluation is worth more."""

AT, CUTS = OWN, OWN + 1
"""work[AT]: the ply of the root; [CUTS]: where it is kept how much each move cut, by seat."""
MOVES = 16
"""Where the moves of each ply begin in `work`."""


def duel_board(rules: duel.Duel) -> list[int]:
    """`board` for bounded Risk, for `ints`."""
    map_ = rules.map
    values = board_values(map_)
    values[BORDERS] = cell(len(map_))
    values[SOURCES] = len(values) - values[BORDERS]
    values += chain.from_iterable([cell(index)] * len(others) for index, others in enumerate(map_.neighbours))
    values[ORDER] = len(values)
    values += map(cell, sorted(range(len(map_)), key=lambda index: -len(map_.neighbours[index])))
    values[MAX_TROOPS], values[MAX_PLIES] = rules.max_troops, rules.max_plies
    values[MOST_MOVES] = len(map_) + 2 * len(map_.borders)
    values[CODES] = values[BORDERS] + 2 * len(map_.borders)
    values[ZOBRIST] = len(values)
    values += random_numbers(2 * len(map_) * (rules.max_troops + 1) + DEEPEST_SEARCH + 1)
    return values


def work_array(board: list[int], depth: int, at: int) -> Any:
    """Room to search `depth` plies from a root at ply `at`."""
    lines = MOVES + (depth + 1) * board[MOST_MOVES]
    cuts = lines + (depth + 2) * (depth + 2)
    work = zeros(cuts + 2 * board[CODES])
    work[AT], work[LINES], work[LINE], work[CUTS] = at, lines, depth + 2, cuts
    return work


@compiled
def list_moves(board: Any, state: Any, work: Any, mover: int, begin: int) -> int:
    """Write the legal moves to `work` from `begin` on; returns where they end."""
    end = begin
    if state[EMPTY]:
        for i in range(board[ORDER], board[ORDER] + board[TERRITORIES]):
            if state[board[i]] == FREE:
                work[end] = board[i]
                end += 1
        return end
    most = board[MAX_TROOPS]
    for at in range(ROWS, board[BORDERS], WIDTH):
        if state[at] == mover and state[at + 1] < most:
            work[end] = at
            end += 1
    for at in range(ROWS, board[BORDERS], WIDTH):
        if state[at] == mover:
            for i in range(board[at], board[at + 1]):
                if state[board[i]] != mover and state[at + 1] >= state[board[i] + 1]:
                    work[end] = i
                    end += 1
    return end


@compiled
def placed(board: Any, state: Any, at: int) -> int:
    """The troops there after an invasion or a reinforcement."""
    return INVADERS if state[EMPTY] else min(state[at + 1] + REINFORCEMENT, board[MAX_TROOPS])


@compiled
def drawn_after(board: Any, work: Any, ply: int) -> bool:
    """Whether the ply limit ends the game with the next ply."""
    return work[AT] + ply + 1 >= board[MAX_PLIES]  # type: ignore[no-any-return]


@compiled
def note_frontier(work: Any, ply: int, leaves: int, estimates: int, chosen: int) -> None:
    """Count what was looked at one ply below a position, and the position; its line is the move `chosen`."""
    work[NODES] += leaves + 1
    work[LEAVES] += leaves
    work[ESTIMATES] += estimates
    work[DEEPEST] = max(work[DEEPEST], ply + 1)
    here = work[LINES] + ply * work[LINE]
    work[here], work[here + 1] = 1, chosen


@compiled
def frontier(board: Any, state: Any, scale: Any, work: Any, ply: int) -> float:
    """Expectiminimax one ply deep: the results are looked at, not entered."""
    mover = state[SEAT] ^ (ply & 1)
    sign = -1.0 if ply & 1 else 1.0
    best, chosen = -INFINITY, 0
    draw = drawn_after(board, work, ply)
    last = state[OWNED + mover] == board[TERRITORIES] - 1
    won = sign * (WIN - ply - 1)
    leaves = wins = 0
    if state[EMPTY]:
        for i in range(board[ORDER], board[ORDER] + board[TERRITORIES]):
            at = board[i]
            if state[at] != FREE:
                continue
            leaves += 1
            if last:
                found = won
                wins += 1
            else:
                found = 0.0 if draw else peek(board, state, scale, at, mover, INVADERS)
            if sign * found > best:
                best, chosen = sign * found, at
    else:
        most = board[MAX_TROOPS]
        for at in range(ROWS, board[BORDERS], WIDTH):
            if state[at] != mover:
                continue
            troops = state[at + 1]
            if troops < most:
                leaves += 1
                found = 0.0 if draw else peek(board, state, scale, at, mover, min(troops + REINFORCEMENT, most))
                if sign * found > best:
                    best, chosen = sign * found, at
            for i in range(board[at], board[at + 1]):
                to = board[i]
                if state[to] == mover or troops < state[to + 1]:
                    continue
                leaves += 2
                rest = troops - state[to + 1]
                if last:
                    found = won
                    wins += 1
                else:
                    found = 0.0 if draw else peek(board, state, scale, to, mover, 1)
                other = 0.0 if draw else peek(board, state, scale, at, mover if rest else FREE, rest)
                found = TAKEN * found + REPELLED * other
                if sign * found > best:
                    best, chosen = sign * found, i
    note_frontier(work, ply, leaves, 0 if draw else leaves - wins, chosen)
    return sign * best


@entry
def expect(board: Any, state: Any, scale: Any, work: Any, left: int, ply: int) -> float:
    """Expectiminimax: the value for MAX of an unfinished position, searched `left` plies, 1 or more, deep."""
    if work[STOP] or work[NODES] >= work[BUDGET]:
        work[STOP] = 1
        return 0.0
    if left == 1:
        return frontier(board, state, scale, work, ply)
    work[NODES] += 1
    mover = state[SEAT] ^ (ply & 1)
    sign = -1.0 if ply & 1 else 1.0
    best = -INFINITY
    last = state[OWNED + mover] == board[TERRITORIES] - 1
    begin = MOVES + ply * board[MOST_MOVES]
    for i in range(begin, list_moves(board, state, work, mover, begin)):
        move = work[i]
        attack = move >= board[BORDERS]
        at = board[move] if attack else move
        was, before = state[at], state[at + 1]
        if last and was != mover:
            note_end(work, ply + 1)
            found = sign * (WIN - ply - 1)
        else:
            put(board, state, at, mover, 1 if attack else placed(board, state, at))
            found = expect(board, state, scale, work, left - 1, ply + 1)
            put(board, state, at, was, before)
        if attack:
            source = board[move + board[SOURCES]]
            troops = state[source + 1]
            put(board, state, source, mover if troops > before else FREE, troops - before)
            found = TAKEN * found + REPELLED * expect(board, state, scale, work, left - 1, ply + 1)
            put(board, state, source, mover, troops)
        if sign * found > best:
            best = sign * found
            keep_line(work, ply, move, not attack)
    return sign * best


@entry
def count_paths(board: Any, state: Any, work: Any, left: int, ply: int) -> int:
    """The number of paths of exactly `left` plies, 1 or more, every result of chance on its own."""
    mover = state[SEAT] ^ (ply & 1)
    begin = MOVES + ply * board[MOST_MOVES]
    end = list_moves(board, state, work, mover, begin)
    paths = 0
    for i in range(begin, end):
        move = work[i]
        attack = move >= board[BORDERS]
        if left == 1:
            paths += 2 if attack else 1
            continue
        at = board[move] if attack else move
        was, before = state[at], state[at + 1]
        put(board, state, at, mover, 1 if attack else placed(board, state, at))
        paths += count_paths(board, state, work, left - 1, ply + 1)  # who has lost has no move
        put(board, state, at, was, before)
        if attack:
            source = board[move + board[SOURCES]]
            troops = state[source + 1]
            put(board, state, source, mover if troops > before else FREE, troops - before)
            paths += count_paths(board, state, work, left - 1, ply + 1)
            put(board, state, source, mover, troops)
    return paths
