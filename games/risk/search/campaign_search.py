"""The search of the campaign in which drafts follow the draft rule: expectiminimax, alpha-beta with Star1, and
quiescence search at the leaves.

MAX is the seat at the root, every other seat is MIN. The draft rule leaves no choice, so a draft in the tree is no ply:
the search places it on entering the position, unless the table already knows the value. A draft at the root is chosen
without a search, as `settings.draft` says.

A move is one number: the index of the border to attack across, in the list at board[SOURCES]. The number of borders
stands for the end of the turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, get_args

from bots.evaluation.base import EQUAL_WEIGHTS, WIN_VALUE
from bots.search.base import SearchLimit, SearchResult, deepen, evaluation_scale
from bots.search.kernels import Algorithm
from games.risk.rules.campaign import (
    MAX_PLAYERS,
    MIN_CLASSIC_DRAFT,
    Attack,
    Campaign,
    Draft,
    EndTurn,
    Move,
    Position,
)
from games.risk.rules.draft import territories_by_pressure
from games.risk.search import battle_odds, work_buffers
from games.risk.search.battle_odds import (
    MEANS_MODE,
    NO_DICE_MODE,
    fight_without_dice,
    floats_needed,
    units_left,
    write_results,
)
from games.risk.search.campaign_board import (
    ATTACKS,
    ATTACKS_LEFT_KEYS,
    BORDER_COUNT,
    BORDERS,
    CLASSIC,
    CONTINENT_COUNT,
    CONTINENTS,
    DICE,
    KEY_DIGIT_BASE,
    PLY_KEYS,
    ROUND_KEYS,
    ROUNDS,
    SEAT_KEYS,
    SEATS,
    SOURCES,
    campaign_board,
    cell_key,
    find_next_turn,
    make_keys,
)
from games.risk.search.draft_rule import share_units
from games.risk.search.flat_position import (
    CELL_LENGTH,
    FIRST_CELL,
    INDEX,
    MODES,
    NO_EVALUATION,
    OWNER,
    SEAT,
    TERRITORIES_OF_SEAT,
    TERRITORY_COUNT,
    TROOPS,
    TROOPS_OF_SEAT,
    cell_of,
    evaluate,
    evaluate_change,
    make_state,
    scale_values,
    set_cell,
)
from games.risk.search.settings import BattleMode, CampaignSettings, DraftMode
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
    count_terminal,
    store_line,
)
from machine.compiled import HAS_NUMBA, compiled, entry, floats, ints, zeros
from protocol.dice import Dice

TURN, ATTACKS_LEFT, ROUND, ACTIVE, ELIMINATED, SAVED, KEY, ATTACKS_PER_TURN, ALIVE = range(
    FIRST_GAME_SLOT, FIRST_GAME_SLOT + 9
)
"""These are slots of `play`, the array in which a search keeps all of a position but owners and troops:

- TURN: the seat to move.
- ATTACKS_LEFT: the number of attacks that the seat to move has left.
- ROUND: the round.
- ACTIVE: the number of seats in the game.
- ELIMINATED: the seat that the last attack eliminated; −1 for none.
- SAVED: where saved positions begin.
- KEY: the search key.
- ATTACKS_PER_TURN: the limit of attacks in a turn.
- ALIVE: where a list begins that has a 1 for each seat in the game.
"""
ALL_ATTACKS, BATTLE_MODE, QUIESCENCE, DEPTH_IN_TURNS, ROUND_IN_KEY, LISTS, HISTORY, DRAFTING = range(
    ALIVE + MAX_PLAYERS, ALIVE + MAX_PLAYERS + 8
)
"""These are more indices of the array `play` (see TURN):

- ALL_ATTACKS: 1 if every attack is a move, 0 if only candidates are (see `list_moves`).
- BATTLE_MODE: how battles are resolved, such as MEANS_MODE.
- QUIESCENCE: whether leaves get a quiescence search.
- DEPTH_IN_TURNS: whether depth counts turns.
- ROUND_IN_KEY: whether the round is part of the search key.
- LISTS: where move lists begin.
- HISTORY: where history scores begin.
- DRAFTING: whether the turn is at its draft.
"""
DRAFT_SCRATCH = DRAFTING + 1
"""The index in the array `play` (see TURN) at which the scratch space for placing a draft begins. It has two entries
for each territory. Saved positions come after it.
"""

INFINITY = float("inf")
"""A value above that of every position. Searches use it, or minus it, before any move is tried."""
MAX_ATTACKS = 3
"""The maximum number of attacks of a turn in a search of candidate attacks, and in the quiescence search."""
COMPLETE_FLAG = 4
"""A flag in an entry of the transposition table: the value was computed from finished games alone, without an
evaluation. It is added to the number of the entry's kind of bound.
"""
DEFAULT_SETTINGS = CampaignSettings(draft="rule")
"""The default settings of `CampaignSearch.search`."""
_ONE_PLY_SETTINGS = CampaignSettings(battles="dice", horizon="plies", draft="rule")
"""The settings of `CampaignSearch.search_one_ply`."""
_GREEDY_SETTINGS = CampaignSettings(draft="greedy")
"""The settings of a search that `CampaignSearch.warm_up` runs only so that `draft_greedily` is compiled."""
NO_SEAT = -1
"""The number that stands for no seat in the array `state`. `CampaignSearch.perft` has no seat that searches, because it
only counts paths.
"""
_BATTLE_MODES: Mapping[BattleMode, int] = {"sure": NO_DICE_MODE, "means": MEANS_MODE, "dice": battle_odds.DICE_MODE}
"""The value of play[BATTLE_MODE] for each value of `settings.battles`."""
MAX_PLIES = 40
"""The greatest depth of a search, in plies."""
MIN_NODES = 50
"""The minimum limit of nodes for a search. Under a lower limit, a move is chosen without a search."""
TABLE_SIZE = 2**17
"""The number of positions in the transposition table, the same on every machine, so that moves are the same."""
VALUE_TOLERANCE = 0.1
"""The maximum difference of two values that `draft_greedily` takes for equal. Values range up to 900,000; their
rounding errors reach some hundredths.
"""


def make_play_array(board: list[int], position: Position, depth: int) -> Any:
    """Return the array `play` of a search, with space for `depth` plies. It contains the turn of `position`: the seat
    to move, the attacks left, the round and the seats in the game.
    """
    count, moves, seats = board[TERRITORY_COUNT], board[BORDER_COUNT], board[SEATS]
    kept = DRAFT_SCRATCH + 2 * count
    lines = kept + (cell_of(count) + 1) * (depth + 1)
    lists = lines + (depth + 2) * (depth + 2)
    history = lists + (moves + 1) * (depth + 1)
    play = zeros(history + 2 * (moves + 1))
    play[TURN], play[ATTACKS_LEFT], play[ROUND] = position.seat, position.attacks_left, position.round
    play[ACTIVE], play[ELIMINATED], play[SAVED], play[ATTACKS_PER_TURN] = (
        seats - len(position.out),
        -1,
        kept,
        board[ATTACKS],
    )
    for seat in range(seats):
        play[ALIVE + seat] = seat not in position.out
    play[LINES], play[LINE_LENGTH], play[LISTS], play[HISTORY] = lines, depth + 2, lists, history
    return play


@compiled
def turn_key(board: Any, play: Any, keys: Any, ply: int) -> int:
    """Return what the turn, the ply and, if play[ROUND_IN_KEY] is set, the round contribute to the search key."""
    begin = board[TERRITORY_COUNT] * MAX_PLAYERS * 2 * KEY_DIGIT_BASE
    key = (
        keys[begin + SEAT_KEYS + play[TURN]]
        ^ keys[begin + ATTACKS_LEFT_KEYS + play[ATTACKS_LEFT]]
        ^ keys[begin + PLY_KEYS + ply]
    )
    return key ^ keys[begin + ROUND_KEYS + play[ROUND]] if play[ROUND_IN_KEY] else key  # type: ignore[no-any-return]


@compiled
def set_cell_and_key(board: Any, state: Any, play: Any, keys: Any, at: int, owner: int, troops: int) -> None:
    """Set a territory's owner and troops by `set_cell`, and update the search key."""
    play[KEY] ^= cell_key(board, state, keys, at)
    set_cell(board, state, at, owner, troops)
    play[KEY] ^= cell_key(board, state, keys, at)


@compiled
def save_position(state: Any, play: Any, ply: int) -> None:
    """Save the position and its search key in the part of `play` that is reserved for this ply."""
    begin = play[SAVED] + ply * (len(state) + 1)
    end = begin + len(state)
    play[begin:end] = state
    play[end] = play[KEY]


@compiled
def restore_position(state: Any, play: Any, ply: int) -> None:
    """Restore the position saved at a ply, which is faster than undoing single changes."""
    begin = play[SAVED] + ply * (len(state) + 1)
    end = begin + len(state)
    state[:] = play[begin:end]
    play[KEY] = play[end]


@compiled
def restore_turn(play: Any, seat: int, left: int, number: int, eliminated: int) -> None:
    """Restore the turn that a move has changed, and put the seat that it eliminated back into the game."""
    play[TURN], play[ATTACKS_LEFT], play[ROUND], play[DRAFTING] = seat, left, number, 0
    if eliminated >= 0:
        play[ALIVE + eliminated] = 1
        play[ACTIVE] += 1


@compiled
def income(board: Any, state: Any, seat: int) -> int:
    """Return the units that a seat has to place in a draft."""
    owned = state[TERRITORIES_OF_SEAT + seat]
    if not board[CLASSIC]:
        return owned  # type: ignore[no-any-return]
    units = max(MIN_CLASSIC_DRAFT, owned // 3)
    begin = board[CONTINENTS]
    for _ in range(board[CONTINENT_COUNT]):
        end = begin + 2 + board[begin + 1]
        held = board[begin]
        for i in range(begin + 2, end):
            if state[board[i]] != seat:
                held = 0
                break
        units += held
        begin = end
    return units  # type: ignore[no-any-return]


@compiled
def place_draft(board: Any, state: Any, play: Any, keys: Any, pressure: Any) -> None:
    """Place the new units of the seat to move by the draft rule. `pressure` has space for one float a territory."""
    seat = play[TURN]
    play[DRAFTING] = 0
    kept = share_units(board, state, play, DRAFT_SCRATCH, pressure, seat, income(board, state, seat))
    placed = DRAFT_SCRATCH + board[TERRITORY_COUNT]
    for i in range(kept):
        if play[placed + i]:
            at = play[DRAFT_SCRATCH + i]
            set_cell_and_key(board, state, play, keys, at, seat, state[at + 1] + play[placed + i])


@compiled
def pass_turn(board: Any, play: Any) -> bool:
    """Pass the turn to the next seat in the game. Return whether the last round is over."""
    following, number = find_next_turn(board, play, ALIVE, play[TURN], play[ROUND])
    play[TURN], play[ROUND], play[ATTACKS_LEFT], play[DRAFTING] = following, number, play[ATTACKS_PER_TURN], 1
    return number > board[ROUNDS]  # type: ignore[no-any-return]


@compiled
def list_moves(board: Any, state: Any, play: Any, begin: int) -> int:
    """Write the attacks of the seat to move, then the end of the turn, to `play` from `begin` on. Return where they
    end.

    Unless play[ALL_ATTACKS] is 1, write only candidate attacks: the source has at least two units more than the target.
    """
    seat, every, borders, end = play[TURN], play[ALL_ATTACKS], board[BORDERS], begin
    for at in range(FIRST_CELL, borders, CELL_LENGTH):
        troops = state[at + 1]
        if state[at] == seat and troops >= 3 - every:
            for i in range(board[at], board[at + 1]):
                to = board[i]
                if state[to] != seat and (every or troops >= state[to + 1] + 2):
                    play[end] = i - borders
                    end += 1
    play[end] = board[BORDER_COUNT]
    return end + 1


@entry
def attack_size(troops: int, defenders: int, all_attacks: int) -> int:
    """Return the number of units that an attack sends. If `all_attacks` is 1, it sends all units but one. If it is 0,
    the attack is a candidate (see `list_moves`) and sends the mean of `troops` and `defenders`, rounded up.
    """
    return troops - 1 if all_attacks else (troops + defenders + 1) // 2


@compiled
def apply_attack(board: Any, state: Any, play: Any, keys: Any, move: int, size: int, remain: int) -> bool:
    """Apply an attack of `size` units. Return whether it ends the game for MAX, the seat that searches: only one seat
    is left, or MAX is eliminated.

    `remain` attackers are left and take the territory. If `remain` is negative, −`remain` defenders are left.
    """
    at, to = board[board[SOURCES] + move], board[board[BORDERS] + move]
    seat, enemy = state[at], state[to]
    set_cell_and_key(board, state, play, keys, at, seat, state[at + 1] - size)
    play[ATTACKS_LEFT] -= 1
    play[ELIMINATED] = -1
    if remain < 0:
        set_cell_and_key(board, state, play, keys, to, enemy, -remain)
        return False
    set_cell_and_key(board, state, play, keys, to, seat, remain)
    if state[TERRITORIES_OF_SEAT + enemy] or not play[ALIVE + enemy]:
        return False
    play[ELIMINATED] = enemy
    play[ALIVE + enemy] = 0
    play[ACTIVE] -= 1
    return play[ACTIVE] == 1 or enemy == state[SEAT]  # type: ignore[no-any-return]


@compiled
def make_move(board: Any, state: Any, play: Any, keys: Any, move: int, size: int, units_left: int) -> bool:
    """Play an attack of `size` units that leaves `units_left`, or end the turn. Return whether MAX's game ends."""
    play[ELIMINATED] = -1
    if move < board[BORDER_COUNT]:
        if apply_attack(board, state, play, keys, move, size, units_left):
            return True
        if play[ATTACKS_LEFT]:
            return False
    return pass_turn(board, play)


@compiled
def write_battle(board: Any, state: Any, play: Any, chances: Any, begin: int, move: int) -> tuple[int, int]:
    """Write a move's results to `chances`, from `begin` on. Return the units that it sends and the result count."""
    if move == board[BORDER_COUNT]:
        chances[begin], chances[begin + 1] = 1.0, 0.0
        return 0, 1
    defenders = state[board[board[BORDERS] + move] + 1]
    size = attack_size(state[board[board[SOURCES] + move] + 1], defenders, play[ALL_ATTACKS])
    return size, write_results(chances, begin, size, defenders, play[BATTLE_MODE])


@compiled
def value_of_terminal(board: Any, state: Any, play: Any, ply: int) -> float:
    """Return the value for MAX (the seat that searches) once the game is over or MAX is out. Survivors rank by
    territories, then by units.
    """
    count_terminal(play, ply)
    top = state[SEAT]
    if not play[ALIVE + top]:
        return ply - WIN_VALUE
    if play[ACTIVE] == 1:
        return WIN_VALUE - ply
    shared = False
    for seat in range(board[SEATS]):
        if (
            seat == top
            or not play[ALIVE + seat]
            or state[TERRITORIES_OF_SEAT + seat] < state[TERRITORIES_OF_SEAT + top]
        ):
            continue
        if (
            state[TERRITORIES_OF_SEAT + seat] > state[TERRITORIES_OF_SEAT + top]
            or state[TROOPS_OF_SEAT + seat] > state[TROOPS_OF_SEAT + top]
        ):
            return ply - WIN_VALUE
        shared = shared or state[TROOPS_OF_SEAT + seat] == state[TROOPS_OF_SEAT + top]
    return 0.0 if shared else WIN_VALUE - ply


@compiled
def evaluate_leaf(board: Any, state: Any, play: Any, scale: Any, ply: int, alpha: float, beta: float) -> float:
    """Return the value for MAX of a position at the horizon, after a quiescence search if play[QUIESCENCE] is set."""
    play[play[LINES] + ply * play[LINE_LENGTH]] = 0
    more = min(play[ATTACKS_LEFT], MAX_ATTACKS) if play[QUIESCENCE] else 0
    return search_quiescence(board, state, play, scale, more, board[BORDER_COUNT], ply, alpha, beta)


@compiled
def first_sources_after(board: Any, last: int) -> tuple[int, int]:
    """Return two cells that limit the source of the attack after the attack `last`. Its source is the second cell, or
    the first cell, or a cell after the first.

    Thus attacks that share no territory are tried in one order only. If there was no attack, `last` is
    board[BORDER_COUNT].
    """
    if last == board[BORDER_COUNT]:
        return FIRST_CELL, FIRST_CELL
    source = board[board[SOURCES] + last]
    return source, min(source, board[board[BORDERS] + last])


@compiled
def search_quiescence(
    board: Any, state: Any, play: Any, scale: Any, attacks_left: int, last: int, ply: int, alpha: float, beta: float
) -> float:
    """Return the value for MAX if the seat to move makes the best series of at most `attacks_left` candidate attacks,
    or none. Battles are resolved without dice.

    After the attack `last`, attacks start only from its source, its target, and territories after its source. Thus
    attacks that share no territory are tried in one order only.
    """
    play[NODES] += 1
    play[LEAVES] += 1
    play[ESTIMATES] += 1
    play[DEEPEST] = max(play[DEEPEST], ply)
    stand = evaluate(board, state, scale)
    seat = play[TURN]
    sign, low, high = (1.0, alpha, beta) if seat == state[SEAT] else (-1.0, -beta, -alpha)
    best = sign * stand
    if attacks_left == 0 or best >= high or play[STOP]:
        return stand
    first, at = first_sources_after(board, last)
    while at < board[BORDERS] and best < high:
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
            out = state[TERRITORIES_OF_SEAT + enemy] == 1 and play[ALIVE + enemy]
            over = out and (enemy == state[SEAT] or play[ACTIVE] == 2)
            if over or attacks_left == 1:
                play[NODES] += 1
                play[LEAVES] += 1
                found = (
                    WIN_VALUE - ply - 1
                    if over
                    else sign * evaluate_change(board, state, scale, to, seat, size - defenders)
                )
            else:
                set_cell(board, state, to, seat, size - defenders)
                if out:
                    play[ALIVE + enemy] = 0
                    play[ACTIVE] -= 1
                alpha, beta = (max(low, best), high) if sign > 0 else (-high, -max(low, best))
                move = i - board[BORDERS]
                found = sign * search_quiescence(
                    board, state, play, scale, attacks_left - 1, move, ply + 1, alpha, beta
                )
                if out:
                    play[ALIVE + enemy] = 1
                    play[ACTIVE] += 1
                set_cell(board, state, to, enemy, defenders)
            best = max(best, found)
            if best >= high:
                break
        if state[source + 1] != troops:
            set_cell(board, state, source, seat, troops)
    return sign * best


@entry
def search_expectiminimax(
    board: Any, state: Any, play: Any, keys: Any, scale: Any, chances: Any, room: int, depth_left: int, ply: int
) -> float:
    """Return the expectiminimax value of an unfinished position, `depth_left` turns or plies deep. This call may write
    the results of battles to `chances` from the index `room` on.
    """
    if play[STOP] or play[NODES] >= play[NODE_LIMIT]:
        play[STOP] = 1
        return 0.0
    if play[DRAFTING]:
        place_draft(board, state, play, keys, chances)
    if depth_left == 0:
        return evaluate_leaf(board, state, play, scale, ply, -INFINITY, INFINITY)
    play[NODES] += 1
    save_position(state, play, ply)
    seat, attacks, number = play[TURN], play[ATTACKS_LEFT], play[ROUND]
    sign = 1.0 if seat == state[SEAT] else -1.0
    best = -INFINITY
    begin = play[LISTS] + ply * (board[BORDER_COUNT] + 1)
    for i in range(begin, list_moves(board, state, play, begin)):
        move = play[i]
        size, count = write_battle(board, state, play, chances, room, move)
        free = room + 2 * count
        found = 0.0
        for result in range(count):
            chance, remain = chances[room + result], int(chances[room + count + result])
            if chance == 0.0:
                continue
            over = make_move(board, state, play, keys, move, size, remain)
            gone = play[ELIMINATED]
            if over:
                value = value_of_terminal(board, state, play, ply + 1)
            else:
                deeper = not play[DEPTH_IN_TURNS] or play[TURN] != seat or play[ROUND] != number
                value = search_expectiminimax(
                    board, state, play, keys, scale, chances, free, depth_left - deeper, ply + 1
                )
            restore_position(state, play, ply)
            restore_turn(play, seat, attacks, number, gone)
            found += chance * value
            if play[STOP]:
                return 0.0
        if sign * found > best:
            best = sign * found
            store_line(play, ply, move, count == 1)
    return sign * best


@compiled
def pick_move(play: Any, begin: int, end: int, table_move: int, history: int) -> int:
    """Choose the next of the moves from `begin` to `end` in `play`, swap it to `begin`, and return it. It is
    `table_move`, the best move in the transposition table, if it is among them. Otherwise it is the move with the
    highest history score, which counts cutoffs.
    """
    best, chosen = -1, begin
    for i in range(begin, end):
        move = play[i]
        if move == table_move:
            chosen = i
            break
        if play[history + move] > best:
            best, chosen = play[history + move], i
    move = play[chosen]
    play[chosen] = play[begin]
    play[begin] = move
    return move  # type: ignore[no-any-return]


@compiled
def store_entry(
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
    """Store a position's value and best move. A stopped search stores wrong ones, which no other search reads."""
    bound = UPPER_BOUND if best <= alpha else LOWER_BOUND if best >= beta else EXACT_BOUND
    if estimates == play[ESTIMATES]:
        bound += COMPLETE_FLAG
    line = play[LINES] + ply * play[LINE_LENGTH]
    move = play[line + 1] if play[line] else -1
    slots[2 * slot], slots[2 * slot + 1] = key, (move + 1) << 16 | bound << 8 | left
    values[slot] = best


@entry
def search_alpha_beta(
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
    """Return the value of `search_expectiminimax` or a bound on it, by alpha-beta with Star1 (Ballard 1983)."""
    # This function is so long because it is the hot loop. If parts of it were functions, even the table lookup alone,
    # it would visit some 5 % fewer nodes a second when compiled, and need one more call a node when not.
    if play[STOP] or play[NODES] >= play[NODE_LIMIT]:
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
            if bound == EXACT_BOUND or (value >= beta if bound == LOWER_BOUND else value <= alpha):
                play[NODES] += 1
                if not known >> 8 & COMPLETE_FLAG:
                    play[ESTIMATES] += 1
                play[play[LINES] + ply * play[LINE_LENGTH]] = 0
                return value  # type: ignore[no-any-return]
    if play[DRAFTING]:
        place_draft(board, state, play, keys, chances)
    estimates = play[ESTIMATES]
    if left == 0:
        best = evaluate_leaf(board, state, play, scale, ply, alpha, beta)
        store_entry(play, slots, values, slot, key, left, ply, alpha, beta, best, estimates)
        return best
    play[NODES] += 1
    save_position(state, play, ply)
    seat, attacks, number = play[TURN], play[ATTACKS_LEFT], play[ROUND]
    sign = 1.0 if seat == state[SEAT] else -1.0
    low, high = alpha, beta
    best = -INFINITY * sign
    begin = play[LISTS] + ply * (board[BORDER_COUNT] + 1)
    history = play[HISTORY] + (0 if sign > 0 else board[BORDER_COUNT] + 1)
    end = list_moves(board, state, play, begin)
    for i in range(begin, end):
        move = pick_move(play, i, end, first, history)
        size, count = write_battle(board, state, play, chances, room, move)
        free = room + 2 * count
        found, unseen = 0.0, 1.0
        for result in range(count):
            chance, remain = chances[room + result], int(chances[room + count + result])
            if chance == 0.0:
                continue
            unseen -= chance
            worst = (low - found - WIN_VALUE * unseen) / chance
            most = (high - found + WIN_VALUE * unseen) / chance
            over = make_move(board, state, play, keys, move, size, remain)
            gone = play[ELIMINATED]
            if over:
                value = value_of_terminal(board, state, play, ply + 1)
            else:
                deeper = not play[DEPTH_IN_TURNS] or play[TURN] != seat or play[ROUND] != number
                value = search_alpha_beta(
                    board, state, play, keys, scale, chances, slots, values, free, left - deeper, ply + 1, worst, most
                )
            restore_position(state, play, ply)
            restore_turn(play, seat, attacks, number, gone)
            found += chance * value
            if play[STOP]:
                return 0.0
            if value >= most:
                found -= WIN_VALUE * unseen
                break
            if value <= worst:
                found += WIN_VALUE * unseen
                break
        if sign * found > sign * best:
            best = found
            store_line(play, ply, move, count == 1)
        if sign > 0:
            low = max(low, best)
        else:
            high = min(high, best)
        if low >= high:
            play[history + move] += left * left
            break
    store_entry(play, slots, values, slot, key, left, ply, alpha, beta, best, estimates)
    return best


@entry
def draft_greedily(board: Any, state: Any, scale: Any, counts: Any, units: int) -> None:
    """Place MAX's units one by one where the evaluation gains most. Count them in `counts`, by territory."""
    seat = state[SEAT]
    for _ in range(units):
        best, chosen = -float("inf"), FIRST_CELL
        for at in range(FIRST_CELL, FIRST_CELL + CELL_LENGTH * board[TERRITORY_COUNT], CELL_LENGTH):
            if state[at + OWNER] == seat:
                found = evaluate_change(board, state, scale, at, seat, state[at + TROOPS] + 1)
                if found > best + VALUE_TOLERANCE:
                    best, chosen = found, at
        set_cell(board, state, chosen, seat, state[chosen + TROOPS] + 1)
        counts[board[chosen + INDEX]] += 1


@entry
def perft(board: Any, state: Any, play: Any, keys: Any, pressure: Any, depth: int) -> int:
    """Count the game paths of exactly `depth` plies, with every attack at full strength and every battle result."""
    if depth == 0:
        return 1
    save_position(state, play, depth)
    seat, left, number = play[TURN], play[ATTACKS_LEFT], play[ROUND]
    if play[DRAFTING]:
        place_draft(board, state, play, keys, pressure)
        paths = perft(board, state, play, keys, pressure, depth - 1)
        restore_position(state, play, depth)
        return paths
    paths = 0
    begin = play[LISTS] + depth * (board[BORDER_COUNT] + 1)
    for i in range(begin, list_moves(board, state, play, begin) - 1):
        move = play[i]
        size = state[board[board[SOURCES] + move] + 1] - 1
        defenders = state[board[board[BORDERS] + move] + 1]
        for result in range(size + defenders if board[DICE] else 1):
            remain = units_left(result, size) if board[DICE] else fight_without_dice(size, defenders)
            over = apply_attack(board, state, play, keys, move, size, remain)
            gone = play[ELIMINATED]
            if not over and play[ATTACKS_LEFT] == 0:
                over = pass_turn(board, play)
            paths += (depth == 1) if over else perft(board, state, play, keys, pressure, depth - 1)
            restore_position(state, play, depth)
            restore_turn(play, seat, left, number, gone)
    over = pass_turn(board, play)
    paths += (depth == 1) if over else perft(board, state, play, keys, pressure, depth - 1)
    restore_turn(play, seat, left, number, -1)
    return paths


class CampaignSearch:
    """The search of one campaign in which drafts follow the draft rule. It runs one search at a time."""

    def __init__(self, rules: Campaign) -> None:
        self.rules = rules
        self._values = campaign_board(rules)
        self._board = ints(self._values)
        self._keys = make_keys(len(rules.map))
        self._searches = 0

    @cached_property
    def _table(self) -> tuple[Any, Any]:
        """The transposition table. Keys contain the number of the search, so entries of older searches never match."""
        return zeros(2 * TABLE_SIZE), zeros(TABLE_SIZE, float)

    def search(
        self,
        position: Position,
        *,
        depth: int,
        algorithm: Algorithm,
        evaluation: str = "features",
        weights: Sequence[float] = EQUAL_WEIGHTS,
        settings: CampaignSettings = DEFAULT_SETTINGS,
        below: Callable[[int], int] | None = None,
        candidates: bool = True,
        limit: SearchLimit,
    ) -> SearchResult[Move]:
        """Return the best move found by iterative deepening up to `depth` within `limit`. It is always legal.

        `settings.horizon` is the unit of `depth`:

        - `turns`: turns.
        - `plies`: plies. If the horizon is in the middle of a turn, the search favours ending the turn early, because
          the next draft then comes sooner.
        - `calm`: plies. At leaves, the seat to move goes on with candidate attacks as long as it gains.

        If `candidates` is true, only candidate attacks are searched (see `list_moves`), else every attack, with all
        units but one. A draft at the root is chosen as `settings.draft` says, without a search.
        """
        rules = self.rules
        attacks = min(rules.max_attacks, MAX_ATTACKS) if candidates else rules.max_attacks
        by_turns = settings.horizon == "turns"
        step = attacks if by_turns else 1
        depth = min(depth, MAX_PLIES // step)
        if rules.to_move(position) is None:
            return SearchResult(0.0, None, (), nodes=1, leaves=1, max_ply=0, depth=depth, complete=True)
        units = sum(position.troops) + MAX_PLIES * self._max_income
        scale = floats(scale_values(rules.map, weights, evaluation_scale(rules), units // len(rules.map) + 1))
        if position.phase == "draft":
            state = make_state(self._board, position, position.seat, MODES[evaluation])
            move = self._choose_draft(position, settings.draft, below, state, scale)
            after = make_state(self._board, rules.outcomes(position, move)[0][1], position.seat, MODES[evaluation])
            limit.count_nodes(1)
            value = float(evaluate(self._board, after, scale))
            return SearchResult(value, move, (move,), nodes=1, leaves=1, max_ply=1, depth=1, complete=False)
        if limit.nodes_left is not None and limit.nodes_left < MIN_NODES:
            return self._choose_quickly(position, limit)
        play = self._make_play_array(position, depth * step, settings, candidates)
        state = make_state(self._board, position, position.seat, MODES[evaluation])
        before = limit.nodes_spent

        def search_depth(
            algorithm: Algorithm, rules: Campaign, root: Position, *, depth: int, limit: SearchLimit
        ) -> SearchResult[Move]:
            """Return the result of one search that is exactly `depth` turns or plies deep. A turn has at most `step`
            plies. Raise `LimitReached` if the limit is spent.
            """
            work_buffers.reset_counts(play, limit.nodes_left)
            count = len(rules.map)
            chances = zeros(count + 2 * depth * step * units + floats_needed(units), float)
            arrays = self._board, state, play, self._keys, scale, chances
            if algorithm == "expectiminimax":
                value = search_expectiminimax(*arrays, count, depth, 0)
            else:
                value = search_alpha_beta(*arrays, *self._table, count, depth, 0, -INFINITY, INFINITY)
            work_buffers.charge_limit(play, limit)
            result = work_buffers.make_result(play, value, self._principal_variation(root, play), depth)
            if play[BATTLE_MODE] == NO_DICE_MODE and abs(value) >= WIN_VALUE - depth * step:
                return replace(result, complete=True)
            return result

        with work_buffers.stop_at(play, limit.deadline):
            hasty = deepen(
                rules, position, partial(search_depth, "expectiminimax"), limit=limit, max_depth=int(by_turns)
            )
            play[DEPTH_IN_TURNS] = by_turns
            result = deepen(rules, position, partial(search_depth, algorithm), limit=limit, max_depth=depth)
        if not result.depth:
            result = replace(hasty, depth=0) if hasty.depth else self._best_so_far(result, position, play)
        return replace(result, nodes=limit.nodes_spent - before)

    def search_one_ply(self, position: Position, *, evaluation: str, limit: SearchLimit) -> SearchResult[Move]:
        """Return the move with the best mean value over the dice, among attacks at full strength and the end of the
        turn.

        Once `limit` is spent, no more moves are tried. The odds of battles are floats here: with the exact fractions of
        the rules, large armies would take seconds.
        """
        return self.search(
            position,
            depth=1,
            algorithm="expectiminimax",
            evaluation=evaluation,
            settings=_ONE_PLY_SETTINGS,
            candidates=False,
            limit=limit,
        )

    def _make_play_array(self, position: Position, depth: int, settings: CampaignSettings, candidates: bool) -> Any:
        rules = self.rules
        play = make_play_array(self._values, position, depth)
        play[ALL_ATTACKS], play[QUIESCENCE] = not candidates, settings.horizon == "calm"
        play[BATTLE_MODE] = _BATTLE_MODES[settings.battles] if rules.battle == "dice" else NO_DICE_MODE
        play[ROUND_IN_KEY] = rules.snake or position.round + depth >= rules.max_rounds
        if candidates:
            play[ATTACKS_LEFT] = min(play[ATTACKS_LEFT], MAX_ATTACKS)
            play[ATTACKS_PER_TURN] = min(play[ATTACKS_PER_TURN], MAX_ATTACKS)
        self._searches += 1
        play[KEY] = self._searches
        return play

    @cached_property
    def _max_income(self) -> int:
        """An upper bound on the units of any draft in this campaign."""
        map_ = self.rules.map
        return len(map_) + MIN_CLASSIC_DRAFT + sum(continent.bonus for continent in map_.continents)

    def _choose_draft(
        self, position: Position, drafting: DraftMode, below: Callable[[int], int] | None, state: Any, scale: Any
    ) -> Move:
        """Return the draft of the seat to move, chosen by the method `drafting` (see `CampaignSettings.draft`). The
        method `greedy` also places the units in `state`. The method `random` draws numbers with `below`. Raise
        `ValueError` if it is missing.
        """
        rules = self.rules
        if drafting == "greedy":
            counts = zeros(len(rules.map))
            draft_greedily(self._board, state, scale, counts, position.units)
            return Draft(tuple((at, int(count)) for at, count in enumerate(counts) if count))
        if drafting == "random":
            if below is None:
                raise ValueError("a random draft needs `below` to draw it")
            return rules.sample_move(position, below)
        if drafting == "front":
            pressure = territories_by_pressure(rules.map.neighbours, position.owner, position.troops, position.seat)
            return Draft(((next(iter(pressure)), position.units),))
        return rules.legal_moves(position)[0]

    def _choose_quickly(self, position: Position, limit: SearchLimit) -> SearchResult[Move]:
        """Return the attack that outnumbers its target most, or the end of the turn. This takes microseconds."""
        attacks = (move for move in self.rules.legal_moves(position) if isinstance(move, Attack))
        spare = {attack: attack.units - position.troops[attack.to] for attack in attacks}
        best = max(spare, key=lambda attack: spare[attack], default=None)
        move = best if best is not None and spare[best] > 0 else EndTurn()
        limit.count_nodes(1)
        return SearchResult(0.0, move, (move,), nodes=1, leaves=0, max_ply=0, depth=0, complete=False)

    def _best_so_far(self, result: SearchResult[Move], position: Position, play: Any) -> SearchResult[Move]:
        """Return the best move seen in a search that stopped before it completed any depth."""
        numbers = work_buffers.read_principal_variation(play)
        move = self._decode_move(position, numbers[0], play) if numbers else EndTurn()
        return replace(result, move=move, line=(move,))

    def _principal_variation(self, root: Position, play: Any) -> tuple[Move, ...]:
        """Return the principal variation that a search has left in `play`, up to the first battle with dice. The
        drafts, which `play` does not contain, are inserted.
        """
        rules, position = self.rules, root
        line: list[Move] = []
        left = int(play[ATTACKS_LEFT])
        for number in work_buffers.read_principal_variation(play):
            line.append(self._decode_move(position, number, play))
            if isinstance(line[-1], Attack) and rules.battle == "dice":
                break
            position = rules.outcomes(position, line[-1])[0][1]
            left -= 1
            if left == 0 and rules.to_move(position) is not None and position.phase == "attack":
                line.append(EndTurn())  # the rules would allow more attacks than the search looks at
                position = rules.outcomes(position, line[-1])[0][1]
            if rules.to_move(position) is not None and position.phase == "draft":
                line.append(rules.legal_moves(position)[0])
                position = rules.outcomes(position, line[-1])[0][1]
                left = int(play[ATTACKS_PER_TURN])
        return tuple(line)

    def _decode_move(self, position: Position, number: int, play: Any) -> Move:
        values = self._values
        if number == values[BORDER_COUNT]:
            return EndTurn()
        source = values[values[values[SOURCES] + number] + INDEX]
        to = values[values[values[BORDERS] + number] + INDEX]
        size = attack_size(position.troops[source], position.troops[to], int(play[ALL_ATTACKS]))
        return Attack(to, source, int(size))

    def perft(self, position: Position, depth: int) -> int:
        """Return the number of game paths of exactly `depth` plies, counting drafts and every result of a battle."""
        if depth == 0:
            return 1
        if self.rules.to_move(position) is None:
            return 0
        play = make_play_array(self._values, position, depth)
        state = make_state(self._board, position, NO_SEAT, NO_EVALUATION)
        pressure = zeros(len(self.rules.map), float)
        play[ALL_ATTACKS], play[DRAFTING] = 1, position.phase == "draft"
        return int(perft(self._board, state, play, self._keys, pressure, depth))

    def warm_up(self) -> None:
        if not HAS_NUMBA:
            return
        start = self.rules.initial(Dice(bytes(32), 0))[0]
        position = self.rules.outcomes(start, self.rules.legal_moves(start)[0])[0][1]
        self.search(start, depth=1, algorithm="alphabeta", settings=_GREEDY_SETTINGS, limit=SearchLimit())
        for algorithm in get_args(Algorithm):
            self.search(position, depth=1, algorithm=algorithm, limit=SearchLimit(nodes=MIN_NODES))
