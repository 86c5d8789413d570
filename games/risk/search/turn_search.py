"""The campaign's search over whole turns, on flat arrays: drafts and attacks in one tree, by expectiminimax or
alpha-beta with Star1.

MAX is the seat at the root, every other seat is MIN. Only the few drafts and attacks with the greatest gain, as the
policy raider computes it, are searched. A battle has two results, won and lost, each with the mean units left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from bots.evaluation.base import WIN_VALUE
from bots.search.base import SearchLimit, SearchResult, evaluation_scale
from bots.search.kernels import Algorithm
from games.risk.rules.campaign import MAX_PLAYERS, Attack, Campaign, Draft, EndTurn, Move, Position
from games.risk.search import work_buffers
from games.risk.search.battle_odds import find_sufficient, look_up_odds, odds_table
from games.risk.search.campaign_evaluation import evaluate
from games.risk.search.campaign_nodes import (
    COMPLETE_FLAG,
    FIRST_SEARCH_SLOT,
    INFINITY,
    LISTS,
    MAX_ATTACKS,
    SAVED,
    SEARCH_NUMBER,
    TABLE_SIZE,
    store_entry,
    value_of_terminal,
)
from games.risk.search.flat_campaign import (
    ATTACKS_LEFT,
    ATTACKS_PER_TURN,
    DRAFTING,
    END_MOVE,
    IS_IN_GAME,
    KEY,
    ROUND,
    UNITS_TO_PLACE,
    apply_battle,
    campaign_board,
    end_turn,
    make_campaign_state,
    place_by_rule,
    place_units,
    round_key,
    turn_key,
)
from games.risk.search.flat_position import (
    BORDER_COUNT,
    BORDERS,
    CELL_LENGTH,
    CELLS_END,
    ENEMY_COUNT,
    FIRST_CELL,
    MODES,
    OUTLOOK,
    OVER,
    SEAT,
    TURN,
    territory_of,
)
from games.risk.search.policies import RaidWeights, attack_gain, site_value, unit_weight
from games.risk.search.work_buffers import (
    DEEPEST,
    ESTIMATES,
    EXACT_BOUND,
    LEAVES,
    LINE_LENGTH,
    LINES,
    LOWER_BOUND,
    NODE_LIMIT,
    NODES,
    STOP,
    count_leaf,
    store_line,
)
from machine.compiled import compiled, entry, floats, ints, zeros

DRAFT_RULE_MOVE = 1
"""The number of the draft by the draft rule of games/risk/rules/draft.py. END_MOVE ends the turn.

A draft to a cell has the number 2 × cell, plus 1 if it places only half of the units. An attack across a border has the
number 2 × the border's index in `board`, plus 1 if it sends only as many units as are sufficient to win
(`find_sufficient`).
"""
EVALUATION, MAX_PLIES, ROOT_MOVE, SCRATCH, SPLIT_COUNT, WIDTHS = range(FIRST_SEARCH_SLOT, FIRST_SEARCH_SLOT + 6)
"""These are indices of `work`, the array of a search, after those of campaign_nodes.py:

- EVALUATION: the number of the evaluation, such as FEATURES.
- MAX_PLIES: the greatest depth in plies.
- ROOT_MOVE: the move to try first at the root; −1 for none.
- SCRATCH: where the scratch space for a draft by the draft rule begins.
- SPLIT_COUNT: the number of best drafts that are also tried with half of the units.
- WIDTHS: where the limits on the number of moves begin. First come WIDTH_COUNT limits on drafts, one a turn, then as
  many limits on attacks.
"""
WIDTH_COUNT = 4
"""The number of turns that have their own limits of moves. Later turns have the limits of the last of these turns."""
SLOT_COUNT = WIDTHS + 2 * WIDTH_COUNT
"""The length of the fixed part at the start of `work`. After it come principal variations, saved positions, lists of
moves and scratch space for drafts.
"""
MAX_MOVES = 64
"""The maximum number of moves that a search lists in a position."""
GAINS = MAX_PLAYERS
"""The index in `scores` at which the gains of listed moves begin, with space for MAX_MOVES gains for each ply. `scores`
begins with one float for each seat.
"""
MIN_PROBABILITY = 0.001
"""The probability below which a battle result is ignored."""
EVALUATIONS = {**MODES, "outlook": OUTLOOK}
"""The number that selects an evaluation in the search (such as FEATURES), by the evaluation's name."""
MAX_PLIES_PER_TURN = MAX_ATTACKS + 2
"""The maximum number of plies of a turn: a draft in two halves, then attacks."""
MAX_TURNS = 6
"""The greatest depth of a search, in turns."""


class SearchWidth(NamedTuple):
    """The limits on the moves that are searched in a position. `drafts` and `attacks` have a maximum number for each of
    WIDTH_COUNT turns, beginning with the turn at the root. `splits` is the number of best drafts at the root that are
    also tried with half of the units.
    """

    drafts: Sequence[int]
    attacks: Sequence[int]
    splits: int


DEFAULT_WIDTH = SearchWidth((6, 2, 2, 2), (3, 1, 1, 1), 2)
"""The default limits on the moves that are searched in a position. They are lower after the turn at the root."""
FULL_WIDTH = SearchWidth((MAX_MOVES // 2,) * WIDTH_COUNT, (MAX_MOVES - 1,) * WIDTH_COUNT, 2)
"""The limits on moves in the widest search. They are chosen so that every list of moves fits in the space for MAX_MOVES
moves.
"""


@compiled
def insert_move(
    work: Any, scores: Any, begin: int, first: int, count: int, max_moves: int, move: int, score: float
) -> int:
    """Insert a move into a sorted list of `count` moves, which keeps the `max_moves` best. Return its new length."""
    if count == max_moves:
        if max_moves == 0 or score <= scores[first + count - 1]:
            return count
        count -= 1
    i = count
    while i > 0 and scores[first + i - 1] < score:
        scores[first + i] = scores[first + i - 1]
        work[begin + i] = work[begin + i - 1]
        i -= 1
    scores[first + i], work[begin + i] = score, move
    return count + 1


@compiled
def list_drafts(
    board: Any, state: Any, odds: Any, raid: Any, work: Any, scores: Any, path: Any, ply: int, max_drafts: int
) -> int:
    """Write the numbers of the drafts to search at a ply to the ply's list in `work`, greatest gain first. Return how
    many they are.

    At the root, two kinds of drafts are added: half of the units to each of the best territories (see SPLIT_COUNT), and
    the draft by the draft rule.
    """
    seat, worth = state[TURN], unit_weight(state)
    begin, first = work[LISTS] + ply * MAX_MOVES, GAINS + ply * MAX_MOVES
    count = 0
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        if state[at] == seat and state[at + ENEMY_COUNT]:
            found = site_value(board, state, odds, raid, worth, path, at, state[UNITS_TO_PLACE])
            count = insert_move(work, scores, begin, first, count, max_drafts, 2 * at, found)
    if ply == 0:
        for i in range(min(count, work[SPLIT_COUNT])):
            work[begin + count] = work[begin + i] + 1
            count += 1
        work[begin + count] = DRAFT_RULE_MOVE
        count += 1
    return count


@compiled
def list_attacks(
    board: Any, state: Any, odds: Any, raid: Any, work: Any, scores: Any, ply: int, max_attacks: int
) -> int:
    """Write the attacks to search at a ply to `work`, greatest gain first, then the turn's end. Return their number."""
    seat, worth = state[TURN], unit_weight(state)
    begin, first = work[LISTS] + ply * MAX_MOVES, GAINS + ply * MAX_MOVES
    count = 0
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        army = state[at + 1]
        if army == 1 or state[at] != seat or not state[at + ENEMY_COUNT]:
            continue
        for i in range(board[at], board[at + 1]):
            to = board[i]
            if state[to] == seat or 3 * (army - 1) < 2 * state[to + 1]:
                continue
            found = attack_gain(board, state, odds, raid, worth, at, army, army - 1, to)[0]
            count = insert_move(work, scores, begin, first, count, max_attacks, 2 * i, found)
            few = find_sufficient(odds, army - 1, state[to + 1])
            if few < army - 2:
                found = attack_gain(board, state, odds, raid, worth, at, army, few, to)[0]
                count = insert_move(work, scores, begin, first, count, max_attacks, 2 * i + 1, found)
    work[begin + count] = END_MOVE
    return count + 1


@compiled
def list_moves(
    board: Any,
    state: Any,
    odds: Any,
    raid: Any,
    work: Any,
    scores: Any,
    path: Any,
    ply: int,
    turn: int,
    first_move: int,
) -> int:
    """Write the moves to search at a ply to `work`, `first_move` first if it is one of them. Return their number."""
    wide = WIDTHS + min(turn, WIDTH_COUNT - 1)
    if state[DRAFTING]:
        count = list_drafts(board, state, odds, raid, work, scores, path, ply, work[wide])
    else:
        count = list_attacks(board, state, odds, raid, work, scores, ply, work[wide + WIDTH_COUNT])
    begin = work[LISTS] + ply * MAX_MOVES
    for i in range(count):
        if work[begin + i] == first_move:
            for k in range(i, 0, -1):
                work[begin + k] = work[begin + k - 1]
            work[begin] = first_move
            break
    return count


@entry
def attack_units(board: Any, state: Any, odds: Any, move: int) -> int:
    """Return the units that an attack, given by its move number, sends."""
    units = state[board[move // 2 + board[BORDER_COUNT]] + 1] - 1
    return find_sufficient(odds, units, state[board[move // 2] + 1]) if move % 2 else units


@compiled
def mean_results(board: Any, state: Any, odds: Any, move: int) -> tuple[float, int, int]:
    """Return the results of an attack: the probability of winning, the mean number of attackers left after a win, and
    minus the mean number of defenders left after a loss. Return 1, 0 and 0 for a move that is no attack.
    """
    if move // 2 < board[BORDERS]:
        return 1.0, 0, 0
    chance, spared, held = look_up_odds(odds, attack_units(board, state, odds, move), state[board[move // 2] + 1])
    if chance > 1.0 - MIN_PROBABILITY:
        chance = 1.0
    elif chance < MIN_PROBABILITY:
        chance = 0.0
    return chance, max(1, int(spared + 0.5)), -max(1, int(held + 0.5))


@compiled
def make_move(board: Any, state: Any, odds: Any, work: Any, scores: Any, move: int, left: int) -> None:
    """Play a move. If it is an attack, `left` is its result, in the form that `fight` returns."""
    at = move // 2
    if at >= board[BORDERS]:
        apply_battle(
            board, state, board[at + board[BORDER_COUNT]], board[at], attack_units(board, state, odds, move), left
        )
    elif move == END_MOVE:
        end_turn(board, state)
    elif move == DRAFT_RULE_MOVE:
        place_by_rule(board, state, work, work[SCRATCH], scores)
    else:
        place_units(board, state, at, (state[UNITS_TO_PLACE] + 1) // 2 if move % 2 else state[UNITS_TO_PLACE])


@entry
def search_node(
    board: Any,
    state: Any,
    odds: Any,
    raid: Any,
    weights: Any,
    work: Any,
    scores: Any,
    path: Any,
    slots: Any,
    values: Any,
    opinion: float,
    depth: int,
    turns_left: int,
    ply: int,
    alpha: float,
    beta: float,
) -> float:
    """Return MAX's value of an unfinished position, `turns_left` of `depth` turns before the horizon. With pruning, a
    value outside `alpha` to `beta` is a bound. `opinion` is the factor by which an evaluation is multiplied to get a
    value.
    """
    # This function is so long for the reason given in `search_node` of campaign_nodes.py.
    if work[STOP] or work[NODES] >= work[NODE_LIMIT]:
        work[STOP] = 1
        return 0.0
    if turns_left == 0 or ply == work[MAX_PLIES]:
        count_leaf(work, ply)
        work[ESTIMATES] += 1
        return opinion * evaluate(board, state, weights, scores, state[SEAT], work[EVALUATION])
    work[NODES] += 1
    pruning = work[SEARCH_NUMBER] > 0
    key, slot, first = 0, 0, -1
    if ply == 0:
        first = work[ROOT_MOVE]
    if pruning:
        attacks = 2 * state[ATTACKS_LEFT] + state[DRAFTING]
        key = work[SEARCH_NUMBER] ^ state[KEY] ^ turn_key(board, state, attacks, ply) ^ round_key(board, state)
        slot = key & (len(values) - 1)
        if ply > 0 and slots[2 * slot] == key:
            known = slots[2 * slot + 1]
            first = (known >> 16) - 1
            if known & 255 == turns_left:
                value, bound = values[slot], known >> 8 & 3
                if bound == EXACT_BOUND or (value >= beta if bound == LOWER_BOUND else value <= alpha):
                    if not known >> 8 & COMPLETE_FLAG:
                        work[ESTIMATES] += 1
                    work[work[LINES] + ply * work[LINE_LENGTH]] = 0
                    return value  # type: ignore[no-any-return]
    estimates = work[ESTIMATES]
    seat, number, me = state[TURN], state[ROUND], state[SEAT]
    sign = 1.0 if seat == me else -1.0
    low, high = alpha, beta
    best = -INFINITY * sign
    kept = work[SAVED] + ply * len(state)
    work[kept : kept + len(state)] = state
    begin = work[LISTS] + ply * MAX_MOVES
    end = begin + list_moves(board, state, odds, raid, work, scores, path, ply, depth - turns_left, first)
    for i in range(begin, end):
        move = work[i]
        chance, won, lost = mean_results(board, state, odds, move)
        found, unseen = 0.0, 1.0
        for result in range(2):
            share = 1.0 - chance if result else chance
            if share == 0.0:
                continue
            unseen -= share
            worst, most = -INFINITY, INFINITY
            if pruning:
                worst, most = (low - found - WIN_VALUE * unseen) / share, (high - found + WIN_VALUE * unseen) / share
            make_move(board, state, odds, work, scores, move, lost if result else won)
            if state[OVER] or not state[IS_IN_GAME + me]:
                value = value_of_terminal(board, state, work, ply + 1)
            else:
                rest = turns_left - (state[TURN] != seat or state[ROUND] != number)
                given = (board, state, odds, raid, weights, work, scores, path, slots, values, opinion)
                value = search_node(*given, depth, rest, ply + 1, worst, most)
            state[:] = work[kept : kept + len(state)]
            if work[STOP]:
                return 0.0
            found += share * value
            if value >= most:
                found -= WIN_VALUE * unseen
                break
            if value <= worst:
                found += WIN_VALUE * unseen
                break
        if sign * found > sign * best:
            best = found
            store_line(work, ply, move, move // 2 < board[BORDERS])
        if sign > 0:
            low = max(low, best)
        else:
            high = min(high, best)
        if pruning and low >= high:
            break
    if pruning:
        store_entry(work, slots, values, slot, key, turns_left, ply, alpha, beta, best, estimates)
    return best


class TurnSearch:
    """The search over whole turns in a campaign under one configuration. It runs one search at a time."""

    def __init__(self, rules: Campaign) -> None:
        self.rules = rules
        self._board = ints(campaign_board(rules, keys=True))
        self._odds = odds_table(rules.battle == "dice")
        self._raid = floats(RaidWeights())
        self._path = zeros(2 * MAX_ATTACKS)
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
        evaluation: str,
        weights: Sequence[float],
        plies: int | None = None,
        width: SearchWidth = DEFAULT_WIDTH,
        limit: SearchLimit,
    ) -> SearchResult[Move] | None:
        """Return the best move found by iterative deepening over turns up to `depth`. Expectiminimax searches `depth`
        turns at once.

        At most `plies` plies are searched. Return None if `limit` did not suffice to search one move. If the search of
        the last depth was stopped, return its best move so far: it tried the previous depth's best move first.
        """
        deepest = min(depth, MAX_TURNS)
        state = make_campaign_state(self._board, position, seat=position.seat)
        state[ATTACKS_LEFT] = min(state[ATTACKS_LEFT], MAX_ATTACKS)
        state[ATTACKS_PER_TURN] = min(state[ATTACKS_PER_TURN], MAX_ATTACKS)
        work, scores = self._make_arrays(len(state), deepest, width)
        work[EVALUATION] = EVALUATIONS[evaluation]
        work[MAX_PLIES] = deepest * MAX_PLIES_PER_TURN if plies is None else plies
        if algorithm == "alphabeta":
            self._searches += 1
            work[SEARCH_NUMBER] = self._searches
        given = self._board, state, self._odds, self._raid, floats(weights), work, scores, self._path
        best: SearchResult[Move] | None = None
        before = limit.nodes_spent
        with work_buffers.stop_at(work, limit.deadline):
            for turn in range(1, deepest + 1) if algorithm == "alphabeta" else (deepest,):
                work_buffers.reset_counts(work, limit.nodes_left)
                work[work[LINES]] = 0
                value = search_node(
                    *given, *self._table, evaluation_scale(self.rules), turn, turn, 0, -INFINITY, INFINITY
                )
                limit.count_nodes(int(work[NODES]))
                if line := work_buffers.read_principal_variation(work):
                    work[ROOT_MOVE] = line[0]
                    move = self._decode_line(position, state, line)
                    leaves = int(work[LEAVES]) + (0 if best is None else best.leaves)
                    before_this = turn - 1, 0.0 if best is None else best.value
                    done, worth = before_this if work[STOP] else (turn, float(value))
                    best = SearchResult(worth, move, (move,), 0, leaves, int(work[DEEPEST]), done, complete=False)
                if work[STOP] or abs(value) >= WIN_VALUE - work[MAX_PLIES]:
                    break
        return None if best is None else replace(best, nodes=limit.nodes_spent - before)

    def _make_arrays(self, state_length: int, depth: int, width: SearchWidth) -> tuple[Any, Any]:
        plies = depth * MAX_PLIES_PER_TURN + 1
        lines = SLOT_COUNT
        kept = lines + (plies + 2) * (plies + 2)
        lists = kept + state_length * (plies + 1)
        scratch = lists + MAX_MOVES * (plies + 1)
        work = zeros(scratch + 2 * len(self.rules.map))
        work[LINES], work[LINE_LENGTH] = lines, plies + 2
        work[SAVED], work[LISTS], work[SCRATCH] = kept, lists, scratch
        work[ROOT_MOVE], work[SPLIT_COUNT] = -1, width.splits
        for turn in range(WIDTH_COUNT):
            work[WIDTHS + turn], work[WIDTHS + WIDTH_COUNT + turn] = width.drafts[turn], width.attacks[turn]
        return work, zeros(GAINS + MAX_MOVES * (plies + 1), float)

    def _decode_line(self, position: Position, state: Any, line: list[int]) -> Move:
        """Return the first move of a principal variation, a list of move numbers. A split draft becomes one move."""
        board, first = self._board, line[0]
        if position.phase == "draft":
            by_rule = first == DRAFT_RULE_MOVE
            return self.rules.legal_moves(position)[0] if by_rule else self._decode_draft(position, line)
        if first == END_MOVE:
            return EndTurn()
        source, to = board[first // 2 + board[BORDER_COUNT]], board[first // 2]
        units = attack_units(board, state, self._odds, first)
        return Attack(int(territory_of(to)), int(territory_of(source)), int(units))

    def _decode_draft(self, position: Position, line: list[int]) -> Draft:
        """Return the draft with which a principal variation, a list of move numbers, begins. If the list ends before
        all units are placed, the last territory gets the rest.
        """
        placed, left = dict[int, int](), position.units
        for number in line:
            if left == 0 or number // 2 >= self._board[BORDERS]:
                break
            units = (left + 1) // 2 if number % 2 else left
            at = int(territory_of(number // 2))
            placed[at] = placed.get(at, 0) + units
            left -= units
        if left:
            placed[at] += left
        return Draft(tuple(sorted(placed.items())))
