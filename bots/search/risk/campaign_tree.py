"""The campaign's search on flat arrays: expectiminimax, alpha-beta with Star1, and leaves made calm. The shell is in
campaign.py.

MAX is the seat at the root, every other seat is MIN. A draft is forced, so it is no ply: it is placed on entering the
position, and not where the table knows that already.
"""

from __future__ import annotations

from typing import Any

from bots.evaluation.base import WIN
from bots.search.risk.campaign_battle import throw
from bots.search.risk.campaign_play import (
    ACTIVE,
    ALIVE,
    BORDERS,
    BY_TURNS,
    CALM,
    DRAFTING,
    EVERY,
    FIGHT,
    GONE,
    HISTORY,
    KEY,
    LEFT,
    LISTS,
    MOVES,
    ROUND,
    SEATS,
    SOURCES,
    TURN,
    attack,
    back_to,
    draft,
    keep,
    list_moves,
    pass_turn,
    size_of,
    take_back,
    turn_key,
)
from bots.search.risk.flat_position import ARMY, OWNED, ROWS, SEAT, WIDTH, estimate, peek, put
from bots.search.risk.work_buffers import (
    BUDGET,
    DEEPEST,
    ESTIMATES,
    EXACT,
    LEAVES,
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

INFINITY = float("inf")
MOST_ATTACKS = 3
"""Attacks a turn that a search looks at, among candidates and behind a leaf."""
COMPLETE = 4
"""Added to a bound in the table where no evaluation entered the value."""


@compiled
def make(board: Any, state: Any, play: Any, keys: Any, move: int, size: int, remain: int) -> bool:
    """Play an attack of so many units that leaves `remain` (see `left_after`), or the end. A draft may be due then.

    Returns whether the game is over for MAX.
    """
    play[GONE] = -1
    if move < board[MOVES]:
        if attack(board, state, play, keys, move, size, remain):
            return True
        if play[LEFT]:
            return False
    return pass_turn(board, play)


@compiled
def fight(board: Any, state: Any, play: Any, chances: Any, room: int, move: int) -> tuple[int, int]:
    """The units that a move sends, and how many results it has: `throw` writes them to `chances` from `room` on."""
    if move == board[MOVES]:
        chances[room], chances[room + 1] = 1.0, 0.0
        return 0, 1
    defenders = state[board[board[BORDERS] + move] + 1]
    size = size_of(state[board[board[SOURCES] + move] + 1], defenders, play[EVERY])
    return size, throw(chances, room, size, defenders, play[FIGHT])


@compiled
def final(board: Any, state: Any, play: Any, ply: int) -> float:
    """The value of a game that is over for MAX: out is lost, alone is won, else territories and then units decide."""
    note_end(play, ply)
    top = state[SEAT]
    if not play[ALIVE + top]:
        return ply - WIN
    if play[ACTIVE] == 1:
        return WIN - ply
    shared = False
    for seat in range(board[SEATS]):
        if seat == top or not play[ALIVE + seat] or state[OWNED + seat] < state[OWNED + top]:
            continue
        if state[OWNED + seat] > state[OWNED + top] or state[ARMY + seat] > state[ARMY + top]:
            return ply - WIN
        shared = shared or state[ARMY + seat] == state[ARMY + top]
    return 0.0 if shared else WIN - ply


@compiled
def leaf(board: Any, state: Any, play: Any, scale: Any, ply: int, alpha: float, beta: float) -> float:
    """The value at the horizon."""
    play[play[LINES] + ply * play[LINE]] = 0
    more = min(play[LEFT], MOST_ATTACKS) if play[CALM] else 0
    return calm(board, state, play, scale, more, board[MOVES], ply, alpha, beta)


@compiled
def begin_after(board: Any, last: int) -> tuple[int, int]:
    """From which cells attacks go on after `last` (board[MOVES]: none): from the first returned, and from the other,
    where that is lower. Of attacks that have no territory in common one order is enough.
    """
    if last == board[MOVES]:
        return ROWS, ROWS
    source = board[board[SOURCES] + last]
    return source, min(source, board[board[BORDERS] + last])


@compiled
def calm(
    board: Any, state: Any, play: Any, scale: Any, more: int, last: int, ply: int, alpha: float, beta: float
) -> float:
    """The evaluation, or the best for the seat to move after up to `more` candidates, which a bigger army wins.

    After `last` only attacks from cells behind its source, or from the two that it changed.
    """
    play[NODES] += 1
    play[LEAVES] += 1
    play[ESTIMATES] += 1
    play[DEEPEST] = max(play[DEEPEST], ply)
    stand = estimate(board, state, scale)
    seat = play[TURN]
    sign, low, high = (1.0, alpha, beta) if seat == state[SEAT] else (-1.0, -beta, -alpha)
    best = sign * stand
    if more == 0 or best >= high or play[STOP]:
        return stand
    first, at = begin_after(board, last)
    while at < board[BORDERS] and best < high:
        source, troops = at, state[at + 1]
        at = max(first, at + WIDTH)
        if state[source] != seat or troops < 3:
            continue
        for i in range(board[source], board[source + 1]):
            to = board[i]
            enemy, defenders = state[to], state[to + 1]
            if enemy == seat or troops < defenders + 2:
                continue
            size = size_of(troops, defenders, 0)
            if state[source + 1] != troops - size:
                put(board, state, source, seat, troops - size)
            out = state[OWNED + enemy] == 1 and play[ALIVE + enemy]
            over = out and (enemy == state[SEAT] or play[ACTIVE] == 2)
            if over or more == 1:
                play[NODES] += 1
                play[LEAVES] += 1
                found = WIN - ply - 1 if over else sign * peek(board, state, scale, to, seat, size - defenders)
            else:
                put(board, state, to, seat, size - defenders)
                if out:
                    play[ALIVE + enemy] = 0
                    play[ACTIVE] -= 1
                alpha, beta = (max(low, best), high) if sign > 0 else (-high, -max(low, best))
                move = i - board[BORDERS]
                found = sign * calm(board, state, play, scale, more - 1, move, ply + 1, alpha, beta)
                if out:
                    play[ALIVE + enemy] = 1
                    play[ACTIVE] += 1
                put(board, state, to, enemy, defenders)
            best = max(best, found)
            if best >= high:
                break
        if state[source + 1] != troops:
            put(board, state, source, seat, troops)
    return sign * best


@entry
def expect(
    board: Any, state: Any, play: Any, keys: Any, scale: Any, chances: Any, room: int, left: int, ply: int
) -> float:
    """Expectiminimax: the value for MAX of an unfinished position, `left` turns or plies deep.

    `chances` is free from `room` on.
    """
    if play[STOP] or play[NODES] >= play[BUDGET]:
        play[STOP] = 1
        return 0.0
    if play[DRAFTING]:
        draft(board, state, play, keys, chances)
    if left == 0:
        return leaf(board, state, play, scale, ply, -INFINITY, INFINITY)
    play[NODES] += 1
    keep(state, play, ply)
    seat, attacks, number = play[TURN], play[LEFT], play[ROUND]
    sign = 1.0 if seat == state[SEAT] else -1.0
    best = -INFINITY
    begin = play[LISTS] + ply * (board[MOVES] + 1)
    for i in range(begin, list_moves(board, state, play, begin)):
        move = play[i]
        size, count = fight(board, state, play, chances, room, move)
        free = room + 2 * count
        found = 0.0
        for result in range(count):
            chance, remain = chances[room + result], int(chances[room + count + result])
            if chance == 0.0:
                continue
            over = make(board, state, play, keys, move, size, remain)
            gone = play[GONE]
            if over:
                value = final(board, state, play, ply + 1)
            else:
                deeper = not play[BY_TURNS] or play[TURN] != seat
                value = expect(board, state, play, keys, scale, chances, free, left - deeper, ply + 1)
            take_back(state, play, ply)
            back_to(play, seat, attacks, number, gone)
            found += chance * value
            if play[STOP]:
                return 0.0
        if sign * found > best:
            best = sign * found
            keep_line(play, ply, move, count == 1)
    return sign * best


@compiled
def pick(play: Any, begin: int, end: int, first: int, history: int) -> int:
    """Move to `begin` the move to try next: the one remembered, else the one that cut most elsewhere."""
    best, chosen = -1, begin
    for i in range(begin, end):
        move = play[i]
        if move == first:
            chosen = i
            break
        if play[history + move] > best:
            best, chosen = play[history + move], i
    move = play[chosen]
    play[chosen] = play[begin]
    play[begin] = move
    return move  # type: ignore[no-any-return]


@compiled
def remember(
    play: Any,
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
    """Keep the value of a position and its best move, if it has one. Where the search has to stop nobody asks for them
    again.
    """
    bound = UPPER if best <= alpha else LOWER if best >= beta else EXACT
    if estimates == play[ESTIMATES]:
        bound += COMPLETE
    line = play[LINES] + ply * play[LINE]
    move = play[line + 1] if play[line] else -1
    slots[2 * slot], slots[2 * slot + 1] = key, (move + 1) << 16 | bound << 8 | left
    values[slot] = best


@entry
def prune(
    board: Any,
    state: Any,
    play: Any,
    keys: Any,
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
    """Alpha-beta, fail-soft, with Star1 (Ballard 1983) where battles are thrown: the value that `expect` has or a bound
    on it beyond `alpha` or `beta`.
    """
    # It is this long because it is the hot loop: its parts as functions of their own, even the look into the table,
    # cost some 5 % of the nodes a second where it is compiled, and a call a node where it is not.
    if play[STOP] or play[NODES] >= play[BUDGET]:
        play[STOP] = 1
        return 0.0
    key = play[KEY] ^ turn_key(board, play, keys, ply)
    slot = key & (len(values) - 1)
    first = -1
    if slots[2 * slot] == key:
        known = slots[2 * slot + 1]
        first = (known >> 16) - 1
        if known & 255 == left:
            value, bound = values[slot], known >> 8 & 3
            if bound == EXACT or (value >= beta if bound == LOWER else value <= alpha):
                play[NODES] += 1
                if not known >> 8 & COMPLETE:
                    play[ESTIMATES] += 1
                play[play[LINES] + ply * play[LINE]] = 0
                return value  # type: ignore[no-any-return]
    if play[DRAFTING]:
        draft(board, state, play, keys, chances)
    estimates = play[ESTIMATES]
    if left == 0:
        best = leaf(board, state, play, scale, ply, alpha, beta)
        remember(play, slots, values, slot, key, left, ply, alpha, beta, best, estimates)
        return best
    play[NODES] += 1
    keep(state, play, ply)
    seat, attacks, number = play[TURN], play[LEFT], play[ROUND]
    sign = 1.0 if seat == state[SEAT] else -1.0
    low, high = alpha, beta
    best = -INFINITY * sign
    begin = play[LISTS] + ply * (board[MOVES] + 1)
    history = play[HISTORY] + (0 if sign > 0 else board[MOVES] + 1)
    end = list_moves(board, state, play, begin)
    for i in range(begin, end):
        move = pick(play, i, end, first, history)
        size, count = fight(board, state, play, chances, room, move)
        free = room + 2 * count
        found, unseen = 0.0, 1.0
        for result in range(count):
            chance, remain = chances[room + result], int(chances[room + count + result])
            if chance == 0.0:
                continue
            unseen -= chance
            worst = (low - found - WIN * unseen) / chance
            most = (high - found + WIN * unseen) / chance
            over = make(board, state, play, keys, move, size, remain)
            gone = play[GONE]
            if over:
                value = final(board, state, play, ply + 1)
            else:
                deeper = not play[BY_TURNS] or play[TURN] != seat
                value = prune(
                    board, state, play, keys, scale, chances, slots, values, free, left - deeper, ply + 1, worst, most
                )
            take_back(state, play, ply)
            back_to(play, seat, attacks, number, gone)
            found += chance * value
            if play[STOP]:
                return 0.0
            if value >= most:
                found -= WIN * unseen
                break
            if value <= worst:
                found += WIN * unseen
                break
        if sign * found > sign * best:
            best = found
            keep_line(play, ply, move, count == 1)
        if sign > 0:
            low = max(low, best)
        else:
            high = min(high, best)
        if low >= high:
            play[history + move] += left * left
            break
    remember(play, slots, values, slot, key, left, ply, alpha, beta, best, estimates)
    return best
