"""Bounded Risk by alpha-beta on flat arrays, with Star1 bounds under chance and a transposition table.

Values here are for the seat to move: what it wins the other loses.
"""

from __future__ import annotations

from typing import Any

from bots.evaluation.base import WIN
from bots.search.risk.duel_expectiminimax import (
    BORDERS,
    BOUND,
    CODES,
    CUTS,
    INFINITY,
    MAX_TROOPS,
    MOST_MOVES,
    MOVES,
    REPELLED,
    SOURCES,
    TAKEN,
    ZOBRIST,
    drawn_after,
    list_moves,
    note_frontier,
    placed,
)
from bots.search.risk.flat_position import EMPTY, INDEX, OWNED, SEAT, TERRITORIES, peek, put
from bots.search.risk.work_buffers import (
    BUDGET,
    EXACT,
    LINE,
    LINES,
    LOWER,
    NODES,
    STOP,
    UPPER,
    keep_line,
    note_end,
)
from machine.compiled import compiled, entry
from protocol.games.risk.duel import FREE

SLOT = 2
"""table[slot]: the key of a position; +1: its move, depth and kind of value, packed. worths[slot // SLOT] its value."""


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
def order_moves(work: Any, cuts: int, begin: int, end: int, first: int) -> None:
    """Put the remembered move first, then those that cut most elsewhere."""
    for i in range(begin + 1, end):
        move = work[i]
        j = i
        while j > begin and work[j - 1] != first and (move == first or work[cuts + work[j - 1]] < work[cuts + move]):
            work[j] = work[j - 1]
            j -= 1
        work[j] = move


@compiled
def window(
    alpha: float, beta: float, least: float, most: float, chance: float, low: float, high: float
) -> tuple[float, float]:
    """Between what values a result of this `chance` matters (Ballard 1983), where the other adds `least` to `most` and
    none is worth less than `low` or more than `high`.
    """
    return max((alpha - most) / chance, low), min((beta - least) / chance, high)


@compiled
def recall(table: Any, worths: Any, key: int, left: int, low: float, high: float) -> tuple[float, float]:
    """What a position is worth, at least and at most, to the seat that moved there, as far as it is remembered."""
    slot = SLOT * (key & (len(worths) - 1))
    if table[slot] != key or (table[slot + 1] >> 2) & 255 != left:
        return low, high
    kind, worth = table[slot + 1] & 3, -worths[slot // SLOT]
    return low if kind == LOWER else max(low, worth), high if kind == UPPER else min(high, worth)


@compiled
def remember(
    work: Any,
    table: Any,
    worths: Any,
    slot: int,
    key: int,
    left: int,
    ply: int,
    alpha: float,
    beta: float,
    best: float,
) -> None:
    """Keep the value of a position and its best move. Where the search has to stop nobody asks for them again."""
    kind = LOWER if best >= beta else UPPER if best <= alpha else EXACT
    move = work[work[LINES] + ply * work[LINE] + 1]
    table[slot], table[slot + 1], worths[slot // SLOT] = key, move << 10 | left << 2 | kind, best


@compiled
def reach(board: Any, state: Any, scale: Any, mover: int, left: int, ply: int) -> tuple[float, float]:
    """Between what values a move of this seat can come out `left` plies deep: a win or a loss only where the plies are
    enough to take the rest of the map, a territory each.
    """
    territories = board[TERRITORIES]
    low = ply + 2 - WIN if state[OWNED + 1 - mover] + left // 2 >= territories else -scale[BOUND]
    high = WIN - ply - 1 if state[OWNED + mover] + 1 + (left - 1) // 2 >= territories else scale[BOUND]
    return low, high


@compiled
def prune_frontier(board: Any, state: Any, scale: Any, work: Any, ply: int, alpha: float, beta: float) -> float:
    """`prune` one ply deep."""
    mover = state[SEAT] ^ (ply & 1)
    sign = -1.0 if ply & 1 else 1.0
    best, chosen = -INFINITY, 0
    draw = drawn_after(board, work, ply)
    won = WIN - ply - 1
    last = state[OWNED + mover] == board[TERRITORIES] - 1
    low = -scale[BOUND]
    leaves = wins = 0
    begin = MOVES + ply * board[MOST_MOVES]
    empty = state[EMPTY]
    end = list_moves(board, state, work, mover, begin)
    cuts = work[CUTS] + mover * board[CODES]
    order_moves(work, cuts, begin, end, -1)
    for i in range(begin, end):
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
                work[cuts + move] += 1
                break
            if best > alpha:
                alpha = best
    note_frontier(work, ply, leaves, 0 if draw else leaves - wins, chosen)
    return best


@entry
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
    # It is this long because it is the hot loop: what it does for a move needs nearly all that it knows of the
    # position, and a call a move shows in the nodes a second, in plain Python above all.
    if work[STOP] or work[NODES] >= work[BUDGET]:
        work[STOP] = 1
        return 0.0
    first = -1
    slot = SLOT * (key & (len(worths) - 1))
    if table[slot] == key:
        first = table[slot + 1] >> 10
        if (table[slot + 1] >> 2) & 255 == left:
            kind, known = table[slot + 1] & 3, worths[slot // SLOT]
            if kind == EXACT or (known >= beta if kind == LOWER else known <= alpha):
                work[NODES] += 1
                work[work[LINES] + ply * work[LINE]] = 0
                return known  # type: ignore[no-any-return]
    if left == 1:
        best = prune_frontier(board, state, scale, work, ply, alpha, beta)
        remember(work, table, worths, slot, key, left, ply, alpha, beta, best)
        return best
    work[NODES] += 1
    mover = state[SEAT] ^ (ply & 1)
    last = state[OWNED + mover] == board[TERRITORIES] - 1
    low, high = reach(board, state, scale, mover, left, ply)
    best, floor = -INFINITY, alpha
    onward = key ^ hash_ply(board, ply) ^ hash_ply(board, ply + 1)
    begin = MOVES + ply * board[MOST_MOVES]
    end = list_moves(board, state, work, mover, begin)
    cuts = work[CUTS] + mover * board[CODES]
    order_moves(work, cuts, begin, end, first)
    for i in range(begin, end):
        move = work[i]
        attack = move >= board[BORDERS]
        at = board[move] if attack else move
        was, before = state[at], state[at + 1]
        troops = 1 if attack else placed(board, state, at)
        after = onward ^ hash_at(board, at, was, before) ^ hash_at(board, at, mover, troops)
        seen, chance = 0.0, 1.0
        above, below = alpha, beta
        least, most = low, high
        if attack:
            source = board[move + board[SOURCES]]
            army = state[source + 1]
            rest = army - before
            holder = mover if rest else FREE
            if not last:
                least, most = recall(table, worths, after, left - 1, low, high)
            above, below = window(alpha, beta, TAKEN * least, TAKEN * most, REPELLED, low, high)
            other = onward ^ hash_at(board, source, mover, army) ^ hash_at(board, source, holder, rest)
            put(board, state, source, holder, rest)
            seen -= REPELLED * prune(board, state, scale, work, table, worths, left - 1, ply + 1, -below, -above, other)
            put(board, state, source, mover, army)
            chance = TAKEN
            above, below = window(alpha, beta, seen, seen, TAKEN, low, high)
        if attack and seen + TAKEN * most <= alpha:
            found = seen + TAKEN * most
        elif attack and seen + TAKEN * least >= beta:
            found = seen + TAKEN * least
        elif last and was != mover:
            note_end(work, ply + 1)
            found = seen + chance * (WIN - ply - 1)
        else:
            put(board, state, at, mover, troops)
            found = seen - chance * prune(
                board, state, scale, work, table, worths, left - 1, ply + 1, -below, -above, after
            )
            put(board, state, at, was, before)
        if found > best:
            best = found
            keep_line(work, ply, move, not attack)
            if best >= beta:
                work[cuts + move] += left * left
                break
            alpha = max(alpha, best)
    remember(work, table, worths, slot, key, left, ply, floor, beta, best)
    return best
