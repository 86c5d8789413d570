"""Searches of bounded Risk on flat arrays: perft, expectiminimax, and alpha-beta with Star1 bounds at chance nodes and
a transposition table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, get_args

from bots.evaluation.base import EQUAL_WEIGHTS, WIN_VALUE
from bots.search.base import DEFAULT_MAX_DEPTH, SearchLimit, SearchResult, deepen, evaluation_scale
from bots.search.kernels import Algorithm
from games.risk.rules.duel import NO_OWNER, Action, Duel, Position
from games.risk.search import work_buffers
from games.risk.search.flat_duel import (
    FAILURE_PROBABILITY,
    MAX_MOVES,
    MAX_PLIES,
    MAX_TROOPS,
    ORDER,
    REINFORCEMENT,
    SUCCESS_PROBABILITY,
    decode_move,
    duel_board,
    hash_at,
    hash_ply,
    list_moves,
    troops_placed,
)
from games.risk.search.flat_position import (
    BORDER_COUNT,
    BORDERS,
    BORDERS_END,
    CELL_LENGTH,
    CELLS_END,
    FIRST_CELL,
    FREE_COUNT,
    MODES,
    NO_EVALUATION,
    SEAT,
    TERRITORIES_OF_SEAT,
    TERRITORY_COUNT,
    evaluate_change,
    make_state,
    scale_values,
    set_cell,
)
from games.risk.search.settings import DuelSettings
from games.risk.search.work_buffers import (
    DEEPEST,
    ESTIMATES,
    EXACT_BOUND,
    FIRST_GAME_SLOT,
    LEAVES,
    LINE_LENGTH,
    LINES,
    LOWER_BOUND,
    NODE_LIMIT,
    NODES,
    STOP,
    UPPER_BOUND,
    count_leaf,
    store_line,
)
from machine.compiled import HAS_NUMBA, compiled, entry, floats, ints, zeros
from protocol.games.base import NO_DICE

INFINITY = float("inf")
"""A value above that of every position. Searches use it, or minus it, before any move is tried."""

EVALUATION_BOUND = 7
"""scale[EVALUATION_BOUND] is the bound on the absolute value of evaluations."""

ROOT_PLY, CUTOFF_COUNTS = FIRST_GAME_SLOT, FIRST_GAME_SLOT + 1
"""These are indices of the array `work`:

- ROOT_PLY: the ply of the root.
- CUTOFF_COUNTS: where the list of the counts of cutoffs begins, by seat and move.
"""
MOVE_LISTS = 16
"""The index in `work` at which the lists of moves begin, one for each ply."""

ENTRY_LENGTH = 2
"""The number of slots of an entry in `table`: one for a position's key, one for its best move, depth and bound, packed.
The position's value is worths[slot // ENTRY_LENGTH]."""
DEFAULT_SETTINGS = DuelSettings()
"""The default of the parameter `settings` of `DuelSearch.search`. The search ignores this parameter."""
TABLE_SIZE = 2**18
"""The number of positions in the transposition table, the same on every machine, so that moves are the same."""


def make_work_array(board: list[int], depth: int, at: int) -> Any:
    """Return the array `work` with space to search `depth` plies from a root at ply `at`."""
    lines = MOVE_LISTS + (depth + 1) * board[MAX_MOVES]
    cuts = lines + (depth + 2) * (depth + 2)
    work = zeros(cuts + 2 * board[BORDERS_END])
    work[ROOT_PLY], work[LINES], work[LINE_LENGTH], work[CUTOFF_COUNTS] = at, lines, depth + 2, cuts
    return work


@compiled
def is_drawn_after(board: Any, work: Any, ply: int) -> bool:
    """Return whether the limit of plies ends the game in a draw after the next move."""
    return work[ROOT_PLY] + ply + 1 >= board[MAX_PLIES]  # type: ignore[no-any-return]


@entry
def count_paths(board: Any, state: Any, work: Any, left: int, ply: int) -> int:
    """Return the number of paths of exactly `left` plies (1 or more) below a position, with both results of attacks."""
    mover = state[SEAT] ^ (ply & 1)
    begin = MOVE_LISTS + ply * board[MAX_MOVES]
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
        set_cell(board, state, at, mover, 1 if attack else troops_placed(board, state, at))
        paths += count_paths(board, state, work, left - 1, ply + 1)  # a seat that has lost has no move
        set_cell(board, state, at, was, before)
        if attack:
            source = board[move + board[BORDER_COUNT]]
            troops = state[source + 1]
            set_cell(board, state, source, mover if troops > before else NO_OWNER, troops - before)
            paths += count_paths(board, state, work, left - 1, ply + 1)
            set_cell(board, state, source, mover, troops)
    return paths


@compiled
def note_frontier(work: Any, ply: int, leaves: int, estimates: int, chosen: int) -> None:
    """Count a position and the leaves one ply below it. Set the position's principal variation to the move `chosen`."""
    work[NODES] += leaves + 1
    work[LEAVES] += leaves
    work[ESTIMATES] += estimates
    work[DEEPEST] = max(work[DEEPEST], ply + 1)
    here = work[LINES] + ply * work[LINE_LENGTH]
    work[here], work[here + 1] = 1, chosen


@compiled
def search_last_ply(board: Any, state: Any, scale: Any, work: Any, ply: int) -> float:
    """Return the expectiminimax value of a position, one ply deep. Evaluate results of moves without making them."""
    mover = state[SEAT] ^ (ply & 1)
    sign = -1.0 if ply & 1 else 1.0
    best, chosen = -INFINITY, 0
    draw = is_drawn_after(board, work, ply)
    last = state[TERRITORIES_OF_SEAT + mover] == board[TERRITORY_COUNT] - 1
    won = sign * (WIN_VALUE - ply - 1)
    leaves = wins = 0
    if state[FREE_COUNT]:
        for i in range(board[ORDER], board[ORDER] + board[TERRITORY_COUNT]):
            at = board[i]
            if state[at] != NO_OWNER:
                continue
            leaves += 1
            if last:
                found = won
                wins += 1
            else:
                found = (
                    0.0 if draw else evaluate_change(board, state, scale, at, mover, troops_placed(board, state, at))
                )
            if sign * found > best:
                best, chosen = sign * found, at
    else:
        most = board[MAX_TROOPS]
        for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
            if state[at] != mover:
                continue
            troops = state[at + 1]
            if troops < most:
                leaves += 1
                found = (
                    0.0 if draw else evaluate_change(board, state, scale, at, mover, min(troops + REINFORCEMENT, most))
                )
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
                    found = 0.0 if draw else evaluate_change(board, state, scale, to, mover, 1)
                other = 0.0 if draw else evaluate_change(board, state, scale, at, mover if rest else NO_OWNER, rest)
                found = SUCCESS_PROBABILITY * found + FAILURE_PROBABILITY * other
                if sign * found > best:
                    best, chosen = sign * found, i
    note_frontier(work, ply, leaves, 0 if draw else leaves - wins, chosen)
    return sign * best


@entry
def search_expectiminimax(board: Any, state: Any, scale: Any, work: Any, left: int, ply: int) -> float:
    """Return the expectiminimax value for MAX of an unfinished position, searched `left` plies deep (1 or more)."""
    if work[STOP] or work[NODES] >= work[NODE_LIMIT]:
        work[STOP] = 1
        return 0.0
    if left == 1:
        return search_last_ply(board, state, scale, work, ply)
    work[NODES] += 1
    mover = state[SEAT] ^ (ply & 1)
    sign = -1.0 if ply & 1 else 1.0
    best = -INFINITY
    last = state[TERRITORIES_OF_SEAT + mover] == board[TERRITORY_COUNT] - 1
    begin = MOVE_LISTS + ply * board[MAX_MOVES]
    for i in range(begin, list_moves(board, state, work, mover, begin)):
        move = work[i]
        attack = move >= board[BORDERS]
        at = board[move] if attack else move
        was, before = state[at], state[at + 1]
        if last and was != mover:
            count_leaf(work, ply + 1)
            found = sign * (WIN_VALUE - ply - 1)
        else:
            set_cell(board, state, at, mover, 1 if attack else troops_placed(board, state, at))
            found = search_expectiminimax(board, state, scale, work, left - 1, ply + 1)
            set_cell(board, state, at, was, before)
        if attack:
            source = board[move + board[BORDER_COUNT]]
            troops = state[source + 1]
            set_cell(board, state, source, mover if troops > before else NO_OWNER, troops - before)
            found = SUCCESS_PROBABILITY * found + FAILURE_PROBABILITY * search_expectiminimax(
                board, state, scale, work, left - 1, ply + 1
            )
            set_cell(board, state, source, mover, troops)
        if sign * found > best:
            best = sign * found
            store_line(work, ply, move, not attack)
    return sign * best


@compiled
def order_moves(work: Any, cuts: int, begin: int, end: int, first: int) -> None:
    """Sort the moves from `begin` to `end`: the table's move `first`, then the moves that caused most cutoffs."""
    for i in range(begin + 1, end):
        move = work[i]
        j = i
        while j > begin and work[j - 1] != first and (move == first or work[cuts + work[j - 1]] < work[cuts + move]):
            work[j] = work[j - 1]
            j -= 1
        work[j] = move


@compiled
def star1_window(
    alpha: float, beta: float, low_rest: float, high_rest: float, chance: float, low: float, high: float
) -> tuple[float, float]:
    """Return the window in which to search one result of an attack, of probability `chance` (Star1, Ballard 1983). The
    value of the other result, multiplied by its probability, is from `low_rest` to `high_rest`. Values lie between
    `low` and `high`.
    """
    return max((alpha - high_rest) / chance, low), min((beta - low_rest) / chance, high)


@compiled
def look_up_bounds(table: Any, worths: Any, key: int, left: int, low: float, high: float) -> tuple[float, float]:
    """Return a lower and an upper bound on a position's value for the seat that has just moved. They are `low` and
    `high`, or tighter bounds from the transposition table.
    """
    slot = ENTRY_LENGTH * (key & (len(worths) - 1))
    if table[slot] != key or (table[slot + 1] >> 2) & 255 != left:
        return low, high
    kind, worth = table[slot + 1] & 3, -worths[slot // ENTRY_LENGTH]
    return low if kind == LOWER_BOUND else max(low, worth), high if kind == UPPER_BOUND else min(high, worth)


@compiled
def store_entry(
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
    """Store a position's value and best move. A stopped search stores wrong ones, which no other search reads."""
    kind = LOWER_BOUND if best >= beta else UPPER_BOUND if best <= alpha else EXACT_BOUND
    move = work[work[LINES] + ply * work[LINE_LENGTH] + 1]
    table[slot], table[slot + 1], worths[slot // ENTRY_LENGTH] = key, move << 10 | left << 2 | kind, best


@compiled
def bound_values(board: Any, state: Any, scale: Any, mover: int, left: int, ply: int) -> tuple[float, float]:
    """Return a lower and an upper bound on the value of any move, for the mover. If the opponent can take the whole map
    in the `left` plies, the lower bound is a loss; otherwise it is the least evaluation. If the mover can take the
    whole map, the upper bound is a win; otherwise it is the greatest evaluation.
    """
    territories = board[TERRITORY_COUNT]
    low = (
        ply + 2 - WIN_VALUE
        if state[TERRITORIES_OF_SEAT + 1 - mover] + left // 2 >= territories
        else -scale[EVALUATION_BOUND]
    )
    high = (
        WIN_VALUE - ply - 1
        if state[TERRITORIES_OF_SEAT + mover] + 1 + (left - 1) // 2 >= territories
        else scale[EVALUATION_BOUND]
    )
    return low, high


@compiled
def prune_last_ply(board: Any, state: Any, scale: Any, work: Any, ply: int, alpha: float, beta: float) -> float:
    """Return what `search_alpha_beta` returns for a depth of one ply. The positions after the moves are evaluated
    without making the moves.
    """
    mover = state[SEAT] ^ (ply & 1)
    sign = -1.0 if ply & 1 else 1.0
    best, chosen = -INFINITY, 0
    draw = is_drawn_after(board, work, ply)
    won = WIN_VALUE - ply - 1
    last = state[TERRITORIES_OF_SEAT + mover] == board[TERRITORY_COUNT] - 1
    low = -scale[EVALUATION_BOUND]
    leaves = wins = 0
    begin = MOVE_LISTS + ply * board[MAX_MOVES]
    empty = state[FREE_COUNT]
    end = list_moves(board, state, work, mover, begin)
    cuts = work[CUTOFF_COUNTS] + mover * board[BORDERS_END]
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
                found = sign * evaluate_change(board, state, scale, move, mover, troops_placed(board, state, move))
        else:
            source, to = board[move + board[BORDER_COUNT]], board[move]
            rest = state[source + 1] - state[to + 1]
            repelled = (
                0.0 if draw else sign * evaluate_change(board, state, scale, source, mover if rest else NO_OWNER, rest)
            )
            high = won if last else -low
            if FAILURE_PROBABILITY * repelled + SUCCESS_PROBABILITY * high <= alpha:
                found = FAILURE_PROBABILITY * repelled + SUCCESS_PROBABILITY * high
            else:
                leaves += 1
                if last:
                    found = won
                    wins += 1
                else:
                    found = 0.0 if draw else sign * evaluate_change(board, state, scale, to, mover, 1)
                found = SUCCESS_PROBABILITY * found + FAILURE_PROBABILITY * repelled
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
def search_alpha_beta(
    board: Any,
    state: Any,
    scale: Any,
    work: Any,
    table: Any,
    values: Any,
    left: int,
    ply: int,
    alpha: float,
    beta: float,
    key: int,
) -> float:
    """Return the value of an unfinished position for the seat to move. Outside `alpha` to `beta` it is only a bound."""
    # It is this long because it is the hot loop. What it does for a move needs nearly all that it knows of
    # the position, and a call a move costs nodes a second, above all in plain Python.
    if work[STOP] or work[NODES] >= work[NODE_LIMIT]:
        work[STOP] = 1
        return 0.0
    first = -1
    slot = ENTRY_LENGTH * (key & (len(values) - 1))
    if table[slot] == key:
        first = table[slot + 1] >> 10
        if (table[slot + 1] >> 2) & 255 == left:
            kind, known = table[slot + 1] & 3, values[slot // ENTRY_LENGTH]
            if kind == EXACT_BOUND or (known >= beta if kind == LOWER_BOUND else known <= alpha):
                work[NODES] += 1
                work[work[LINES] + ply * work[LINE_LENGTH]] = 0
                return known  # type: ignore[no-any-return]
    if left == 1:
        best = prune_last_ply(board, state, scale, work, ply, alpha, beta)
        store_entry(work, table, values, slot, key, left, ply, alpha, beta, best)
        return best
    work[NODES] += 1
    mover = state[SEAT] ^ (ply & 1)
    last = state[TERRITORIES_OF_SEAT + mover] == board[TERRITORY_COUNT] - 1
    low, high = bound_values(board, state, scale, mover, left, ply)
    best, floor = -INFINITY, alpha
    onward = key ^ hash_ply(board, ply) ^ hash_ply(board, ply + 1)
    begin = MOVE_LISTS + ply * board[MAX_MOVES]
    end = list_moves(board, state, work, mover, begin)
    cuts = work[CUTOFF_COUNTS] + mover * board[BORDERS_END]
    order_moves(work, cuts, begin, end, first)
    for i in range(begin, end):
        move = work[i]
        attack = move >= board[BORDERS]
        at = board[move] if attack else move
        was, before = state[at], state[at + 1]
        troops = 1 if attack else troops_placed(board, state, at)
        after = onward ^ hash_at(board, at, was, before) ^ hash_at(board, at, mover, troops)
        seen, chance = 0.0, 1.0
        above, below = alpha, beta
        least, most = low, high
        if attack:
            source = board[move + board[BORDER_COUNT]]
            army = state[source + 1]
            rest = army - before
            holder = mover if rest else NO_OWNER
            if not last:
                least, most = look_up_bounds(table, values, after, left - 1, low, high)
            above, below = star1_window(
                alpha, beta, SUCCESS_PROBABILITY * least, SUCCESS_PROBABILITY * most, FAILURE_PROBABILITY, low, high
            )
            other = onward ^ hash_at(board, source, mover, army) ^ hash_at(board, source, holder, rest)
            set_cell(board, state, source, holder, rest)
            seen -= FAILURE_PROBABILITY * search_alpha_beta(
                board, state, scale, work, table, values, left - 1, ply + 1, -below, -above, other
            )
            set_cell(board, state, source, mover, army)
            chance = SUCCESS_PROBABILITY
            above, below = star1_window(alpha, beta, seen, seen, SUCCESS_PROBABILITY, low, high)
        if attack and seen + SUCCESS_PROBABILITY * most <= alpha:
            found = seen + SUCCESS_PROBABILITY * most
        elif attack and seen + SUCCESS_PROBABILITY * least >= beta:
            found = seen + SUCCESS_PROBABILITY * least
        elif last and was != mover:
            count_leaf(work, ply + 1)
            found = seen + chance * (WIN_VALUE - ply - 1)
        else:
            set_cell(board, state, at, mover, troops)
            found = seen - chance * search_alpha_beta(
                board, state, scale, work, table, values, left - 1, ply + 1, -below, -above, after
            )
            set_cell(board, state, at, was, before)
        if found > best:
            best = found
            store_line(work, ply, move, not attack)
            if best >= beta:
                work[cuts + move] += left * left
                break
            alpha = max(alpha, best)
    store_entry(work, table, values, slot, key, left, ply, floor, beta, best)
    return best


class DuelSearch:
    """A kernel that searches for moves in bounded Risk under one config. It runs one search at a time."""

    default_depth: ClassVar[int] = 3
    nodes_per_ms: ClassVar[int] = work_buffers.NODES_PER_MS

    def __init__(self, rules: Duel) -> None:
        self.rules = rules
        self._values = duel_board(rules)
        self._board = ints(self._values)
        self._searches = 0

    @cached_property
    def _table(self) -> tuple[Any, Any]:
        """The transposition table. Keys contain the number of the search, so entries of older searches never match."""
        return zeros(ENTRY_LENGTH * TABLE_SIZE), zeros(TABLE_SIZE, float)

    def search(
        self,
        position: Position,
        *,
        depth: int,
        algorithm: Algorithm,
        evaluation: str = "features",
        weights: Sequence[float] = EQUAL_WEIGHTS,
        settings: DuelSettings = DEFAULT_SETTINGS,
        below: Callable[[int], int] | None = None,
        limit: SearchLimit,
    ) -> SearchResult[Action]:
        """Return the best move found by iterative deepening up to `depth` within `limit`. It is always legal.

        The node limit is checked once for each position. Thus the search may exceed it by the number of results that
        the moves in one position have. The principal variation ends early at a position whose value comes from the
        transposition table.
        """
        rules = self.rules
        if rules.to_move(position) is None:
            return SearchResult(0.0, None, (), nodes=1, leaves=1, max_ply=0, depth=depth, complete=True)
        depth = min(depth, DEFAULT_MAX_DEPTH, rules.max_plies - position.at)
        work = make_work_array(self._values, depth, position.at)
        worth = evaluation_scale(rules)
        values = scale_values(rules.map, weights, worth, rules.max_troops)
        scale = floats([*values, 0.0 if evaluation == "none" else worth])
        state = make_state(self._board, position, position.seat, MODES[evaluation])
        self._searches += 1

        def search_depth(rules: Duel, root: Position, *, depth: int, limit: SearchLimit) -> SearchResult[Action]:
            """Search once, `depth` plies deep. Raise `LimitReached` if the limit is spent."""
            work_buffers.reset_counts(work, limit.nodes_left)
            arrays = self._board, state, scale, work
            if algorithm == "expectiminimax":
                value = search_expectiminimax(*arrays, depth, 0)
            else:
                value = search_alpha_beta(*arrays, *self._table, depth, 0, -INFINITY, INFINITY, self._searches)
            work_buffers.charge_limit(work, limit)
            return work_buffers.make_result(work, value, self._principal_variation(root, work), depth)

        with work_buffers.stop_at(work, limit.deadline):
            return deepen(rules, position, search_depth, limit=limit, max_depth=depth)

    def _principal_variation(self, root: Position, work: Any) -> tuple[Action, ...]:
        position, line = root, []
        for move in work_buffers.read_principal_variation(work):
            action = decode_move(self._values, position, move)
            line.append(action)
            position = self.rules.outcomes(position, action)[0][1]
        return tuple(line)

    def perft(self, position: Position, depth: int) -> int:
        """Return the number of paths of exactly `depth` plies in the game tree, with both results of each attack."""
        depth_left = self.rules.max_plies - position.at
        if depth == 0:
            return 1
        if depth > depth_left or self.rules.to_move(position) is None:
            return 0
        work = make_work_array(self._values, depth, position.at)
        return int(
            count_paths(self._board, make_state(self._board, position, position.seat, NO_EVALUATION), work, depth, 0)
        )

    def warm_up(self) -> None:
        if not HAS_NUMBA:
            return
        position = self.rules.initial(NO_DICE)[0]
        for algorithm in get_args(Algorithm):
            self.search(position, depth=2, algorithm=algorithm, limit=SearchLimit())
