"""The compiled functions that search the tree of a campaign in which drafts follow the draft rule: expectiminimax,
alpha-beta with Star1, and quiescence search at the leaves.

MAX is the seat at the root, every other seat is MIN. The draft rule leaves no choice, so a draft in the tree is no ply:
the search places it on entering the position, unless the table already knows the value.
"""

from __future__ import annotations

from typing import Any

from bots.evaluation.base import WIN_VALUE
from games.risk.search.battle_odds import write_results
from games.risk.search.flat_campaign import (
    ACTIVE,
    ATTACKS_LEFT,
    DRAFTING,
    END_MOVE,
    IS_IN_GAME,
    KEY,
    ROUND,
    apply_battle,
    end_turn,
    first_place_share,
    list_attacks,
    place_by_rule,
    round_key,
    turn_key,
)
from games.risk.search.flat_position import (
    BORDER_COUNT,
    BORDERS,
    BORDERS_END,
    CELL_LENGTH,
    CELLS_END,
    FIRST_CELL,
    OVER,
    OWNER,
    SEAT,
    TERRITORIES_OF_SEAT,
    TERRITORY_COUNT,
    TROOPS,
    TURN,
    evaluate,
    evaluate_change,
    set_cell,
    territory_of,
)
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
from machine.compiled import compiled, entry, zeros

SEARCH_NUMBER, SAVED, LISTS, FIRST_SEARCH_SLOT = range(FIRST_GAME_SLOT, FIRST_GAME_SLOT + 4)
"""These are indices of `work`, the array of a search, in both searches of campaigns:

- SEARCH_NUMBER: the number of an alpha-beta search; 0 for expectiminimax.
- SAVED: where saved positions begin, one a ply.
- LISTS: where the lists of moves begin, one a ply.
- FIRST_SEARCH_SLOT: the first index that belongs to one of the two searches.
"""
ALL_ATTACKS, BATTLE_MODE, QUIESCENCE, DEPTH_IN_TURNS, ROUND_IN_KEY, HISTORY, SCRATCH = range(
    FIRST_SEARCH_SLOT, FIRST_SEARCH_SLOT + 7
)
"""These are indices of `work` that only this search uses:

- ALL_ATTACKS: 1 if every attack is a move, 0 if only candidates are (see `list_attacks`).
- BATTLE_MODE: how battles are resolved, such as MEANS_MODE.
- QUIESCENCE: whether leaves get a quiescence search.
- DEPTH_IN_TURNS: whether depth counts turns.
- ROUND_IN_KEY: whether the round is part of the search key.
- HISTORY: where the history scores of moves begin, first those of MAX, then those of MIN.
- SCRATCH: where the scratch space for placing a draft begins, two entries a territory. Principal variations, saved
  positions, lists of moves and history scores follow it.
"""
INFINITY = float("inf")
"""A value above that of every position. Searches use it, or minus it, before any move is tried."""
MAX_ATTACKS = 3
"""The maximum number of attacks of a turn in a search of candidate attacks, and in the quiescence search."""
COMPLETE_FLAG = 4
"""A flag in an entry of the transposition table: the value was computed from finished games alone, without an
evaluation. It is added to the number of the entry's kind of bound.
"""
TABLE_SIZE = 2**17
"""The number of positions in the transposition table, the same on every machine, so that moves are the same."""
VALUE_TOLERANCE = 0.1
"""The maximum difference of two values that `draft_greedily` takes for equal. Values range up to 900,000; their
rounding errors reach some hundredths.
"""


def make_work_array(board: Any, depth: int) -> Any:
    """Return the array `work` of a search, with space for `depth` plies."""
    lines = SCRATCH + 2 * board[TERRITORY_COUNT]
    kept = lines + (depth + 2) * (depth + 2)
    lists = kept + board[BORDERS] * (depth + 1)
    history = lists + (board[BORDER_COUNT] + 1) * (depth + 1)
    work = zeros(history + 2 * board[BORDERS_END])
    work[LINES], work[LINE_LENGTH], work[SAVED], work[LISTS], work[HISTORY] = lines, depth + 2, kept, lists, history
    return work


@entry
def attack_size(troops: int, defenders: int, all_attacks: int) -> int:
    """Return the number of units that an attack sends. If `all_attacks` is 1, it sends all units but one. If it is 0,
    the attack is a candidate (see `list_attacks`) and sends the mean of `troops` and `defenders`, rounded up.
    """
    return troops - 1 if all_attacks else (troops + defenders + 1) // 2


@compiled
def write_battle(board: Any, state: Any, work: Any, chances: Any, begin: int, move: int) -> tuple[int, int]:
    """Write a move's results to `chances`, from `begin` on. Return the units that it sends and the result count."""
    if move == END_MOVE:
        chances[begin], chances[begin + 1] = 1.0, 0.0
        return 0, 1
    defenders = state[board[move] + TROOPS]
    size = attack_size(state[board[move + board[BORDER_COUNT]] + TROOPS], defenders, work[ALL_ATTACKS])
    return size, write_results(chances, begin, size, defenders, work[BATTLE_MODE])


@compiled
def make_move(board: Any, state: Any, move: int, size: int, left: int) -> None:
    """Play an attack of `size` units with the result `left`, in the form that `fight` returns, or end the turn."""
    if move == END_MOVE:
        end_turn(board, state)
    else:
        apply_battle(board, state, board[move + board[BORDER_COUNT]], board[move], size, left)


@compiled
def value_of_terminal(board: Any, state: Any, work: Any, ply: int) -> float:
    """Return the value for MAX, the seat that searches, once the game is over or MAX is out. Count the position."""
    count_leaf(work, ply)
    share = first_place_share(board, state, state[SEAT])
    return WIN_VALUE - ply if share == 1.0 else ply - WIN_VALUE if share == 0.0 else 0.0


@compiled
def first_sources_after(board: Any, last: int) -> tuple[int, int]:
    """Return two cells that limit the source of the attack after the attack `last`. Its source is the second cell, or
    the first cell, or a cell after the first.

    Thus attacks that share no territory are tried in one order only. If there was no attack, `last` is
    board[BORDERS_END].
    """
    if last == board[BORDERS_END]:
        return FIRST_CELL, FIRST_CELL
    source = board[last + board[BORDER_COUNT]]
    return source, min(source, board[last])


@compiled
def search_quiescence(
    board: Any, state: Any, work: Any, scale: Any, attacks_left: int, last: int, ply: int, alpha: float, beta: float
) -> float:
    """Return the value for MAX if the seat to move makes the best series of at most `attacks_left` candidate attacks,
    or none. Battles are resolved without dice.

    After the attack `last`, attacks start only from its source, its target, and territories after its source. Thus
    attacks that share no territory are tried in one order only.
    """
    work[NODES] += 1
    work[LEAVES] += 1
    work[ESTIMATES] += 1
    work[DEEPEST] = max(work[DEEPEST], ply)
    stand = evaluate(board, state, scale)
    seat = state[TURN]
    sign, low, high = (1.0, alpha, beta) if seat == state[SEAT] else (-1.0, -beta, -alpha)
    best = sign * stand
    if attacks_left == 0 or best >= high or work[STOP]:
        return stand
    first, at = first_sources_after(board, last)
    while at < board[CELLS_END] and best < high:
        source, troops = at, state[at + 1]
        at = max(first, at + CELL_LENGTH)
        if state[source] != seat or troops < 3:
            continue
        for i in range(board[source], board[source + 1]):
            to = board[i]
            enemy, defenders = state[to], state[to + 1]
            if enemy == seat or troops < defenders + 2:
                continue
            size = attack_size(troops, defenders, 0)
            if state[source + 1] != troops - size:
                set_cell(board, state, source, seat, troops - size)
            out = state[TERRITORIES_OF_SEAT + enemy] == 1 and state[IS_IN_GAME + enemy]
            over = out and (enemy == state[SEAT] or state[ACTIVE] == 2)
            if over or attacks_left == 1:
                work[NODES] += 1
                work[LEAVES] += 1
                found = (
                    WIN_VALUE - ply - 1
                    if over
                    else sign * evaluate_change(board, state, scale, to, seat, size - defenders)
                )
            else:
                set_cell(board, state, to, seat, size - defenders)
                if out:
                    state[IS_IN_GAME + enemy] = 0
                    state[ACTIVE] -= 1
                alpha, beta = (max(low, best), high) if sign > 0 else (-high, -max(low, best))
                found = sign * search_quiescence(board, state, work, scale, attacks_left - 1, i, ply + 1, alpha, beta)
                if out:
                    state[IS_IN_GAME + enemy] = 1
                    state[ACTIVE] += 1
                set_cell(board, state, to, enemy, defenders)
            best = max(best, found)
            if best >= high:
                break
        if state[source + 1] != troops:
            set_cell(board, state, source, seat, troops)
    return sign * best


@compiled
def pick_move(work: Any, begin: int, end: int, table_move: int, history: int) -> int:
    """Choose the next of the moves from `begin` to `end` in `work`, swap it to `begin`, and return it. It is
    `table_move`, the best move in the transposition table, if it is among them. Otherwise it is the move with the
    highest history score, which counts cutoffs.
    """
    best, chosen = -1, begin
    for i in range(begin, end):
        move = work[i]
        if move == table_move:
            chosen = i
            break
        if work[history + move] > best:
            best, chosen = work[history + move], i
    move = work[chosen]
    work[chosen] = work[begin]
    work[begin] = move
    return move  # type: ignore[no-any-return]


@compiled
def store_entry(
    work: Any,
    slots: Any,
    values: Any,
    slot: int,
    key: int,
    left: int,
    ply: int,
    alpha: float,
    beta: float,
    best: float,
    estimates: int,
) -> None:
    """Store a position's value and best move. A stopped search stores wrong ones, which no other search reads."""
    bound = UPPER_BOUND if best <= alpha else LOWER_BOUND if best >= beta else EXACT_BOUND
    if estimates == work[ESTIMATES]:
        bound += COMPLETE_FLAG
    line = work[LINES] + ply * work[LINE_LENGTH]
    move = work[line + 1] if work[line] else -1
    slots[2 * slot], slots[2 * slot + 1] = key, (move + 1) << 16 | bound << 8 | left
    values[slot] = best


@entry
def search_node(
    board: Any,
    state: Any,
    work: Any,
    scale: Any,
    chances: Any,
    slots: Any,
    values: Any,
    room: int,
    left: int,
    ply: int,
    alpha: float,
    beta: float,
) -> float:
    """Return MAX's value of an unfinished position, `left` turns or plies before the horizon. With pruning, a value
    outside `alpha` to `beta` is a bound (alpha-beta with Star1, Ballard 1983). This call may write the results of
    battles to `chances` from the index `room` on.
    """
    # This function is so long because it is the hot loop. If parts of it were functions, even the table lookup alone,
    # it would visit some 5 % fewer nodes a second when compiled, and need one more call a node when not.
    if work[STOP] or work[NODES] >= work[NODE_LIMIT]:
        work[STOP] = 1
        return 0.0
    pruning = work[SEARCH_NUMBER] > 0
    key, slot, first = 0, 0, -1
    if pruning:
        key = work[SEARCH_NUMBER] ^ state[KEY] ^ turn_key(board, state, state[ATTACKS_LEFT], ply)
        if work[ROUND_IN_KEY]:
            key ^= round_key(board, state)
        slot = key & (len(values) - 1)
        if slots[2 * slot] == key:
            known = slots[2 * slot + 1]
            first = (known >> 16) - 1
            if known & 255 == left:
                value, bound = values[slot], known >> 8 & 3
                if bound == EXACT_BOUND or (value >= beta if bound == LOWER_BOUND else value <= alpha):
                    work[NODES] += 1
                    if not known >> 8 & COMPLETE_FLAG:
                        work[ESTIMATES] += 1
                    work[work[LINES] + ply * work[LINE_LENGTH]] = 0
                    return value  # type: ignore[no-any-return]
    if state[DRAFTING]:
        place_by_rule(board, state, work, SCRATCH, chances)
    estimates = work[ESTIMATES]
    if left == 0:
        work[work[LINES] + ply * work[LINE_LENGTH]] = 0
        attacks = min(state[ATTACKS_LEFT], MAX_ATTACKS) if work[QUIESCENCE] else 0
        best = search_quiescence(board, state, work, scale, attacks, board[BORDERS_END], ply, alpha, beta)
        if pruning:
            store_entry(work, slots, values, slot, key, left, ply, alpha, beta, best, estimates)
        return best
    work[NODES] += 1
    seat, number, me = state[TURN], state[ROUND], state[SEAT]
    sign = 1.0 if seat == me else -1.0
    low, high = alpha, beta
    best = -INFINITY * sign
    kept = work[SAVED] + ply * len(state)
    work[kept : kept + len(state)] = state
    begin = work[LISTS] + ply * (board[BORDER_COUNT] + 1)
    history = work[HISTORY] + (0 if sign > 0 else board[BORDERS_END])
    end = list_attacks(board, state, work, begin, work[ALL_ATTACKS])
    for i in range(begin, end):
        move = pick_move(work, i, end, first, history) if pruning else work[i]
        size, count = write_battle(board, state, work, chances, room, move)
        free = room + 2 * count
        found, unseen = 0.0, 1.0
        for result in range(count):
            chance, remain = chances[room + result], int(chances[room + count + result])
            if chance == 0.0:
                continue
            unseen -= chance
            worst, most = -INFINITY, INFINITY
            if pruning:
                worst, most = (low - found - WIN_VALUE * unseen) / chance, (high - found + WIN_VALUE * unseen) / chance
            make_move(board, state, move, size, remain)
            if state[OVER] or not state[IS_IN_GAME + me]:
                value = value_of_terminal(board, state, work, ply + 1)
            else:
                deeper = not work[DEPTH_IN_TURNS] or state[TURN] != seat or state[ROUND] != number
                value = search_node(
                    board, state, work, scale, chances, slots, values, free, left - deeper, ply + 1, worst, most
                )
            state[:] = work[kept : kept + len(state)]
            if work[STOP]:
                return 0.0
            found += chance * value
            if value >= most:
                found -= WIN_VALUE * unseen
                break
            if value <= worst:
                found += WIN_VALUE * unseen
                break
        if sign * found > sign * best:
            best = found
            store_line(work, ply, move, count == 1)
        if sign > 0:
            low = max(low, best)
        else:
            high = min(high, best)
        if pruning and low >= high:
            work[history + move] += left * left
            break
    if pruning:
        store_entry(work, slots, values, slot, key, left, ply, alpha, beta, best, estimates)
    return best


@entry
def draft_greedily(board: Any, state: Any, scale: Any, counts: Any, units: int) -> None:
    """Place MAX's units one by one where the evaluation gains most. Count them in `counts`, by territory."""
    seat = state[SEAT]
    for _ in range(units):
        best, chosen = -float("inf"), FIRST_CELL
        for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
            if state[at + OWNER] == seat:
                found = evaluate_change(board, state, scale, at, seat, state[at + TROOPS] + 1)
                if found > best + VALUE_TOLERANCE:
                    best, chosen = found, at
        set_cell(board, state, chosen, seat, state[chosen + TROOPS] + 1)
        counts[territory_of(chosen)] += 1


@entry
def perft(board: Any, state: Any, work: Any, chances: Any, room: int, depth: int) -> int:
    """Count the game paths of exactly `depth` plies, with every attack at full strength and every battle result. This
    call may write to `chances` from the index `room` on.
    """
    if depth == 0 or state[OVER]:
        return int(depth == 0)
    kept = work[SAVED] + depth * len(state)
    work[kept : kept + len(state)] = state
    if state[DRAFTING]:
        place_by_rule(board, state, work, SCRATCH, chances)
        paths = perft(board, state, work, chances, room, depth - 1)
        state[:] = work[kept : kept + len(state)]
        return paths
    paths = 0
    begin = work[LISTS] + depth * (board[BORDER_COUNT] + 1)
    for i in range(begin, list_attacks(board, state, work, begin, work[ALL_ATTACKS])):
        size, count = write_battle(board, state, work, chances, room, work[i])
        for result in range(room + count, room + 2 * count):
            make_move(board, state, work[i], size, int(chances[result]))
            paths += perft(board, state, work, chances, room + 2 * count, depth - 1)
            state[:] = work[kept : kept + len(state)]
    return paths
