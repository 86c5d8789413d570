"""Bounded Risk by alpha-beta on flat arrays, with Star1 bounds under chance and a transposition table.

Values here are for the seat to move: what it wins the other loses.
"""

from __future__ import annotations

from typing import Any

from bots.search.base import WIN
from bots.search.risk.duel_tree import (
    AT,
    BORDERS,
    BOUND,
    BUDGET,
    CODES,
    CUTS,
    DEEPEST,
    ESTIMATES,
    INFINITY,
    LEAVES,
    LINE,
    LINES,
    MAX_PLIES,
    MAX_TROOPS,
    MOST_MOVES,
    MOVES,
    NODES,
    REPELLED,
    SOURCES,
    STOP,
    TAKEN,
    ZOBRIST,
    keep_line,
    list_moves,
    note_end,
    placed,
)
from bots.search.risk.sums import EMPTY, FREE, INDEX, OWNED, SEAT, TERRITORIES, peek, put
from protocol.compiled import compiled

EXACT, LOWER, UPPER = 0, 1, 2
"""What a remembered value is: the value, or a bound on it."""
SLOT = 2
"""table[slot]: the key of a position; +1: its move, depth and kind of value, packed; worths[slot // SLOT]: the value."""


@compiled
def hash_at(board: Any, at: int, owner: int, troops: int) -> int:
    """What a cell adds to the key of a position."""
    if owner == FREE:
        return 0
    return board[board[ZOBRIST] + (2 * board[at + INDEX] + owner) * (board[MAX_TROOPS] + 1) + troops]  # type: ignore[no-any-return]


@compiled
def hash_ply(board: Any, ply: int) -> int:
    """What the distance from the root adds: below a throw wins of different lengths are mixed, so that a value holds
    for its distance only.
    """
    return board[board[ZOBRIST] + 2 * board[TERRITORIES] * (board[MAX_TROOPS] + 1) + ply]  # type: ignore[no-any-return]


@compiled
def order_moves(board: Any, work: Any, mover: int, ply: int, begin: int, end: int, first: int) -> None:
    """Put the remembered move first, then those that cut most elsewhere."""
    base = work[CUTS] + mover * board[CODES]
    for i in range(begin + 1, end):
        move = work[i]
        score = work[base + move]
        j = i
        while j > begin and work[j - 1] != first and (move == first or work[base + work[j - 1]] < score):
            work[j] = work[j - 1]
            j -= 1
        work[j] = move


@compiled
def prune_frontier(board: Any, state: Any, scale: Any, work: Any, ply: int, alpha: float, beta: float) -> float:
    """`prune` one ply deep."""
    mover = state[SEAT] ^ (ply & 1)
    sign = -1.0 if ply & 1 else 1.0
    best, chosen = -INFINITY, 0
    draw = work[AT] + ply + 1 >= board[MAX_PLIES]
    won = WIN - ply - 1
    last = state[OWNED + mover] == board[TERRITORIES] - 1
    low = -scale[BOUND]
    leaves = wins = 0
    here = work[LINES] + ply * work[LINE]
    begin = MOVES + ply * board[MOST_MOVES]
    empty = state[EMPTY]
    for i in range(begin, list_moves(board, state, work, mover, begin)):
        move = work[i]
        leaves += 1
        if move < board[BORDERS]:
            if empty and last:
                found = won
                wins += 1
            elif draw:
                found = 0.0
            else:
                found = sign * peek(board, state, scale, move, mover, placed(board, state, move))
        else:
            source, to = board[move + board[SOURCES]], board[move]
            rest = state[source + 1] - state[to + 1]
            repelled = 0.0 if draw else sign * peek(board, state, scale, source, mover if rest else FREE, rest)
            high = won if last else -low
            if REPELLED * repelled + TAKEN * high <= alpha:
                found = REPELLED * repelled + TAKEN * high
            else:
                leaves += 1
                if last:
                    found = won
                    wins += 1
                else:
                    found = 0.0 if draw else sign * peek(board, state, scale, to, mover, 1)
                found = TAKEN * found + REPELLED * repelled
        if found > best:
            best, chosen = found, move
            if best >= beta:
                break
            if best > alpha:
                alpha = best
    work[NODES] += leaves + 1
    work[LEAVES] += leaves
    work[ESTIMATES] += 0 if draw else leaves - wins
    work[DEEPEST] = max(work[DEEPEST], ply + 1)
    work[here], work[here + 1] = 1, chosen
    return best


@compiled
def prune(
    board: Any,
    state: Any,
    scale: Any,
    work: Any,
    table: Any,
    worths: Any,
    left: int,
    ply: int,
    alpha: float,
    beta: float,
    key: int,
) -> float:
    """The value of an unfinished position between `alpha` and `beta`, or a bound on it beyond them."""
    if work[STOP] or work[NODES] >= work[BUDGET]:
        work[STOP] = 1
        return 0.0
    if left == 1:
        return prune_frontier(board, state, scale, work, ply, alpha, beta)
    slot = (key & (len(worths) - 1)) * SLOT
    first = -1
    if table[slot] == key:
        first = table[slot + 1] >> 10
        if (table[slot + 1] >> 2) & 255 == left:
            kind = table[slot + 1] & 3
            known = worths[slot // SLOT]
            if kind == EXACT or (known >= beta if kind == LOWER else known <= alpha):
                work[NODES] += 1
                work[work[LINES] + ply * work[LINE]] = 0
                return known
    work[NODES] += 1
    mover = state[SEAT] ^ (ply & 1)
    territories = board[TERRITORIES]
    last = state[OWNED + mover] == territories - 1
    win, loss = WIN - ply - 1, ply + 2 - WIN
    high = win if state[OWNED + mover] + 1 + (left - 1) // 2 >= territories else scale[BOUND]
    low = loss if state[OWNED + 1 - mover] + left // 2 >= territories else -scale[BOUND]
    best, chosen = -INFINITY, -1
    floor = alpha
    begin = MOVES + ply * board[MOST_MOVES]
    end = list_moves(board, state, work, mover, begin)
    order_moves(board, work, mover, ply, begin, end, first)
    key ^= hash_ply(board, ply) ^ hash_ply(board, ply + 1)
    for i in range(begin, end):
        move = work[i]
        attack = move >= board[BORDERS]
        at = board[move] if attack else move
        was, before = state[at], state[at + 1]
        found = 0.0
        above, below = alpha, beta
        if attack:
            source = board[move + board[SOURCES]]
            troops = state[source + 1]
            rest = troops - before
            above = max((alpha - TAKEN * high) / REPELLED, low)
            below = min((beta - TAKEN * low) / REPELLED, high)
            holder = mover if rest else FREE
            after = key ^ hash_at(board, source, mover, troops) ^ hash_at(board, source, holder, rest)
            put(board, state, source, holder, rest)
            repelled = -prune(board, state, scale, work, table, worths, left - 1, ply + 1, -below, -above, after)
            put(board, state, source, mover, troops)
            found = REPELLED * repelled
            if found + TAKEN * high <= alpha:
                found += TAKEN * high
            elif found + TAKEN * low >= beta:
                found += TAKEN * low
            else:
                above = max((alpha - found) / TAKEN, low)
                below = min((beta - found) / TAKEN, high)
                attack = False
        if not attack:
            fresh = 1 if move >= board[BORDERS] else placed(board, state, at)
            if last and was != mover:
                note_end(work, ply + 1)
                value = win
            else:
                after = key ^ hash_at(board, at, was, before) ^ hash_at(board, at, mover, fresh)
                put(board, state, at, mover, fresh)
                value = -prune(board, state, scale, work, table, worths, left - 1, ply + 1, -below, -above, after)
                put(board, state, at, was, before)
            found = value if move < board[BORDERS] else found + TAKEN * value
        if found > best:
            best, chosen = found, move
            keep_line(work, ply, move, move < board[BORDERS])
            if best >= beta:
                work[work[CUTS] + mover * board[CODES] + move] += left * left
                break
            alpha = max(alpha, best)
    if not work[STOP]:
        key ^= hash_ply(board, ply) ^ hash_ply(board, ply + 1)
        kind = LOWER if best >= beta else UPPER if best <= floor else EXACT
        table[slot], table[slot + 1], worths[slot // SLOT] = key, (chosen << 10) | (left << 2) | kind, best
    return best
