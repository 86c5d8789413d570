"""The campaign's search over whole turns, on the array `field`: drafts and attacks in one tree, by expectiminimax or
alpha-beta with Star1.

MAX is the seat at the root, every other seat is MIN. Only the few drafts and attacks that gain the raider most are
searched. A battle has two results, won and lost, each with the mean units left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from bots.evaluation.base import WIN
from bots.search.base import Found, Limit, opinion
from bots.search.kernels import Algorithm
from bots.search.risk import field as flat
from bots.search.risk import work_buffers
from bots.search.risk.battle_odds import enough, odds_of, odds_table
from bots.search.risk.campaign_board import (
    ATTACKS,
    BORDERS,
    LEFT_KEYS,
    PLY_KEYS,
    ROUND_KEYS,
    SEAT_KEYS,
    SOURCES,
    SPAN,
    campaign_board,
    key_of,
    keys_for,
)
from bots.search.risk.campaign_search import COMPLETE, INFINITY, MOST_ATTACKS, remember
from bots.search.risk.field import DRAFTING, FOES, IN, LEFT, OVER, ROUND, TURN, UNITS, field_of
from bots.search.risk.field_evaluation import OUTLOOK, judge
from bots.search.risk.flat_position import INDEX, MODES, ROWS, TERRITORIES, WIDTH
from bots.search.risk.policies import Raiding, balance, gain, site_value
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
    OWN,
    STOP,
    keep_line,
    note_end,
)
from machine.compiled import compiled, entry, floats, ints, zeros
from protocol.games.risk.campaign import MOST_PLAYERS, Attack, Campaign, Draft, End, Move, Position

END, RULE = 0, 1
"""The moves that end a turn and that draft by the draft rule. A draft to a cell is twice the cell, plus 1 for half of
the units. An attack across a border is twice the border's index in `board`, plus 1 to send only `enough` units."""
ME, MODE, SEARCH, PLIES, FIRST, KEPT, LISTS, PLACES, SPLITS, WIDE = range(OWN, OWN + 10)
"""Slots of `work`. ME is MAX, MODE the evaluation, SEARCH the number of an alpha-beta search, else 0. PLIES is the
greatest number of plies, FIRST the move to try first at the root, −1 for none. KEPT is where saved positions begin, one
a ply; LISTS the moves, MOST of a ply; PLACES what the draft rule places at the root, by territory index. SPLITS is the
number of best sites that also get split drafts. From WIDE on: by turn the limit of drafts, then the limit of attacks.
"""
TURNS = 4
"""Turns with their own limits of moves. Later turns have the last one's."""
ROOM = WIDE + 2 * TURNS
"""The end of the fixed slots of `work`. Behind it are the arrays that begin where the slots above say."""
MOST = 64
"""The greatest number of moves of a position."""
SCORES = MOST_PLAYERS
"""Where the gains of moves begin in `scores`, MOST of a ply, behind a float a seat."""
RARE = 0.001
"""Results with a lower probability are ignored."""
EVALUATIONS = {**MODES, "outlook": OUTLOOK}
"""The values of `work[MODE]`."""
PLIES_A_TURN = MOST_ATTACKS + 2
"""The most plies of a turn: a draft in two halves, then attacks."""
DEEPEST_TURNS = 6
"""The greatest depth of a search, in turns."""
ENTRIES = 2**17
"""Positions that the table holds. It is the same on every machine, so that moves are the same."""


class Width(NamedTuple):
    """Limits on the moves searched: drafts and attacks by turn, and split drafts at the root."""

    drafts: Sequence[int]
    attacks: Sequence[int]
    splits: int


USUAL = Width((6, 2, 2, 2), (3, 1, 1, 1), 2)
EVERY = Width((MOST // 2,) * TURNS, (MOST - 1,) * TURNS, 2)
"""The widest search: as many moves as a list has space for."""


@compiled
def insert(work: Any, scores: Any, begin: int, first: int, count: int, most: int, move: int, score: float) -> int:
    """Insert a move into a sorted list of `count` moves that keeps the `most` best. Return its new length."""
    if count == most:
        if most == 0 or score <= scores[first + count - 1]:
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
    board: Any, field: Any, odds: Any, raid: Any, work: Any, scores: Any, path: Any, ply: int, most: int
) -> int:
    """Write the drafts of a ply, greatest gain first. Return how many there are.

    At the root they include split drafts to the best sites and the draft of the rule.
    """
    seat, worth = field[TURN], balance(board, field)
    begin, first = work[LISTS] + ply * MOST, SCORES + ply * MOST
    count = 0
    for at in range(ROWS, board[BORDERS], WIDTH):
        if field[at] == seat and field[at + FOES]:
            found = site_value(board, field, odds, raid, worth, path, at, field[UNITS])
            count = insert(work, scores, begin, first, count, most, 2 * at, found)
    if ply == 0:
        for i in range(min(count, work[SPLITS])):
            work[begin + count] = work[begin + i] + 1
            count += 1
        work[begin + count] = RULE
        count += 1
    return count


@compiled
def list_attacks(board: Any, field: Any, odds: Any, raid: Any, work: Any, scores: Any, ply: int, most: int) -> int:
    """Write the attacks of a ply, greatest gain first, then the end of the turn. Return the number of moves."""
    seat, worth = field[TURN], balance(board, field)
    begin, first = work[LISTS] + ply * MOST, SCORES + ply * MOST
    count = 0
    for at in range(ROWS, board[BORDERS], WIDTH):
        army = field[at + 1]
        if army == 1 or field[at] != seat or not field[at + FOES]:
            continue
        for i in range(board[at], board[at + 1]):
            to = board[i]
            if field[to] == seat or 3 * (army - 1) < 2 * field[to + 1]:
                continue
            found = gain(board, field, odds, raid, worth, at, army, army - 1, to)[0]
            count = insert(work, scores, begin, first, count, most, 2 * i, found)
            few = enough(odds, army - 1, field[to + 1])
            if few < army - 2:
                found = gain(board, field, odds, raid, worth, at, army, few, to)[0]
                count = insert(work, scores, begin, first, count, most, 2 * i + 1, found)
    work[begin + count] = END
    return count + 1


@compiled
def list_moves(
    board: Any, field: Any, odds: Any, raid: Any, work: Any, scores: Any, path: Any, ply: int, turn: int, first: int
) -> int:
    """Write the moves of a ply in this turn, `first` before the others if it is one. Return how many there are."""
    wide = WIDE + min(turn, TURNS - 1)
    if field[DRAFTING]:
        count = list_drafts(board, field, odds, raid, work, scores, path, ply, work[wide])
    else:
        count = list_attacks(board, field, odds, raid, work, scores, ply, work[wide + TURNS])
    begin = work[LISTS] + ply * MOST
    for i in range(count):
        if work[begin + i] == first:
            for k in range(i, 0, -1):
                work[begin + k] = work[begin + k - 1]
            work[begin] = first
            break
    return count


@entry
def units_of(board: Any, field: Any, odds: Any, move: int) -> int:
    """Return the units that an attack sends."""
    units = field[board[board[SOURCES] + move // 2 - board[BORDERS]] + 1] - 1
    return enough(odds, units, field[board[move // 2] + 1]) if move % 2 else units


@compiled
def results(board: Any, field: Any, odds: Any, move: int) -> tuple[float, int, int]:
    """Return the probability of a move's first result (1 unless it is an attack), and what both results leave."""
    if move // 2 < board[BORDERS]:
        return 1.0, 0, 0
    chance, spared, held = odds_of(odds, units_of(board, field, odds, move), field[board[move // 2] + 1])
    if chance > 1.0 - RARE:
        chance = 1.0
    elif chance < RARE:
        chance = 0.0
    return chance, max(1, int(spared + 0.5)), -max(1, int(held + 0.5))


@compiled
def make(board: Any, field: Any, odds: Any, work: Any, move: int, left: int) -> None:
    """Play a move. If it is an attack, its result is `left`."""
    at = move // 2
    if at >= board[BORDERS]:
        source = board[board[SOURCES] + at - board[BORDERS]]
        flat.settle(board, field, source, board[at], units_of(board, field, odds, move), left)
    elif move == END:
        flat.end_turn(board, field)
    elif move == RULE:
        for place in range(ROWS, board[BORDERS], WIDTH):
            if work[work[PLACES] + board[place + INDEX]]:
                flat.place(field, place, work[work[PLACES] + board[place + INDEX]])
    else:
        flat.place(field, at, (field[UNITS] + 1) // 2 if move % 2 else field[UNITS])


@compiled
def key_at(board: Any, field: Any, keys: Any, ply: int) -> int:
    """Return the search key of a position `ply` plies from the root."""
    begin = board[TERRITORIES] * MOST_PLAYERS * 2 * SPAN
    key = keys[begin + SEAT_KEYS + field[TURN]] ^ keys[begin + LEFT_KEYS + 2 * field[LEFT] + field[DRAFTING]]
    key ^= keys[begin + PLY_KEYS + ply] ^ keys[begin + ROUND_KEYS + field[ROUND]]
    for at in range(ROWS, board[BORDERS], WIDTH):
        key ^= key_of(board, field, keys, at)
    return key  # type: ignore[no-any-return]


@compiled
def final(board: Any, field: Any, work: Any, scores: Any, ply: int) -> float:
    """Return the value of a game that is over for MAX."""
    note_end(work, ply)
    if not field[IN + work[ME]]:
        return ply - WIN
    flat.score(board, field, scores)
    share = scores[work[ME]]
    return WIN - ply if share == 1.0 else ply - WIN if share == 0.0 else 0.0


@compiled
def leaf(board: Any, field: Any, weights: Any, work: Any, scores: Any, opinion: float, ply: int) -> float:
    """Return the evaluation at the horizon and count a leaf."""
    work[LEAVES] += 1
    work[ESTIMATES] += 1
    work[DEEPEST] = max(work[DEEPEST], ply)
    work[work[LINES] + ply * work[LINE]] = 0
    return opinion * judge(board, field, weights, scores, work[ME], work[MODE])


@entry
def look(
    board: Any,
    field: Any,
    odds: Any,
    raid: Any,
    weights: Any,
    keys: Any,
    work: Any,
    scores: Any,
    path: Any,
    slots: Any,
    values: Any,
    opinion: float,
    depth: int,
    left: int,
    ply: int,
    alpha: float,
    beta: float,
) -> float:
    """Return the value for MAX of an unfinished position, `left` of `depth` turns before the horizon. With pruning it
    may be a bound outside `alpha` to `beta`. `opinion` is the value of an evaluation of 1.
    """
    # As long as prune in campaign_search.py, and for the same reason.
    if work[STOP] or work[NODES] >= work[BUDGET]:
        work[STOP] = 1
        return 0.0
    work[NODES] += 1
    if left == 0 or ply == work[PLIES]:
        return leaf(board, field, weights, work, scores, opinion, ply)
    pruning = work[SEARCH] > 0
    key, slot, first = 0, 0, -1
    if ply == 0:
        first = work[FIRST]
    if pruning:
        key = work[SEARCH] ^ key_at(board, field, keys, ply)
        slot = key & (len(values) - 1)
        if ply > 0 and slots[2 * slot] == key:
            known = slots[2 * slot + 1]
            first = (known >> 16) - 1
            if known & 255 == left:
                value, bound = values[slot], known >> 8 & 3
                if bound == EXACT or (value >= beta if bound == LOWER else value <= alpha):
                    if not known >> 8 & COMPLETE:
                        work[ESTIMATES] += 1
                    work[work[LINES] + ply * work[LINE]] = 0
                    return value  # type: ignore[no-any-return]
    estimates = work[ESTIMATES]
    seat, number, me = field[TURN], field[ROUND], work[ME]
    sign = 1.0 if seat == me else -1.0
    low, high = alpha, beta
    best = -INFINITY * sign
    kept = work[KEPT] + ply * len(field)
    work[kept : kept + len(field)] = field
    begin = work[LISTS] + ply * MOST
    end = begin + list_moves(board, field, odds, raid, work, scores, path, ply, depth - left, first)
    for i in range(begin, end):
        move = work[i]
        chance, won, lost = results(board, field, odds, move)
        found, unseen = 0.0, 1.0
        for result in range(2):
            share = 1.0 - chance if result else chance
            if share == 0.0:
                continue
            unseen -= share
            worst, most = -INFINITY, INFINITY
            if pruning:
                worst, most = (low - found - WIN * unseen) / share, (high - found + WIN * unseen) / share
            make(board, field, odds, work, move, lost if result else won)
            if field[OVER] or not field[IN + me]:
                value = final(board, field, work, scores, ply + 1)
            else:
                rest = left - (field[TURN] != seat or field[ROUND] != number)
                given = (board, field, odds, raid, weights, keys, work, scores, path, slots, values, opinion)
                value = look(*given, depth, rest, ply + 1, worst, most)
            field[:] = work[kept : kept + len(field)]
            if work[STOP]:
                return 0.0
            found += share * value
            if value >= most:
                found -= WIN * unseen
                break
            if value <= worst:
                found += WIN * unseen
                break
        if sign * found > sign * best:
            best = found
            keep_line(work, ply, move, move // 2 < board[BORDERS])
        if sign > 0:
            low = max(low, best)
        else:
            high = min(high, best)
        if pruning and low >= high:
            break
    if pruning:
        remember(work, slots, values, slot, key, left, ply, alpha, beta, best, estimates)
    return best


class TurnSearch:
    """Searches a campaign with one configuration, one search at a time."""

    def __init__(self, rules: Campaign) -> None:
        self.rules = rules
        values = campaign_board(rules)
        values[ATTACKS] = min(values[ATTACKS], MOST_ATTACKS)
        self._board = ints(values)
        self._odds = odds_table(rules.battle == "dice")
        self._raid = floats(Raiding())
        self._keys = keys_for(len(rules.map))
        self._path = zeros(2 * MOST_ATTACKS)
        self._searches = 0

    @cached_property
    def _memory(self) -> tuple[Any, Any]:
        """The transposition table. Keys include the number of the search, so older entries never match."""
        return zeros(2 * ENTRIES), zeros(ENTRIES, float)

    def search(
        self,
        position: Position,
        *,
        depth: int,
        algorithm: Algorithm,
        evaluation: str,
        weights: Sequence[float],
        plies: int | None = None,
        width: Width = USUAL,
        limit: Limit,
    ) -> Found[Move] | None:
        """Return the best move by iterative deepening over turns up to `depth`; expectiminimax searches only `depth`.

        At most `plies` plies are searched. Returns None if `limit` did not suffice for one move. If the last depth was
        cut short, its best move so far counts, as it tried the previous depth's move first.
        """
        deepest = min(depth, DEEPEST_TURNS)
        field = field_of(self.rules, position, 0)
        field[LEFT] = min(field[LEFT], MOST_ATTACKS)
        work, scores = self._room(position, field, deepest, width)
        work[MODE] = EVALUATIONS[evaluation]
        work[PLIES] = deepest * PLIES_A_TURN if plies is None else plies
        if algorithm == "alphabeta":
            self._searches += 1
            work[SEARCH] = self._searches
        given = self._board, field, self._odds, self._raid, floats(weights), self._keys, work, scores, self._path
        best: Found[Move] | None = None
        before = limit.spent
        with work_buffers.stopping(work, limit.deadline):
            for turn in range(1, deepest + 1) if algorithm == "alphabeta" else (deepest,):
                work_buffers.begin(work, limit.left)
                work[work[LINES]] = 0
                value = look(*given, *self._memory, opinion(self.rules), turn, turn, 0, -INFINITY, INFINITY)
                limit.charge(int(work[NODES]))
                if line := work_buffers.best_line(work):
                    work[FIRST] = line[0]
                    move = self._move(position, field, line)
                    leaves = int(work[LEAVES]) + (0 if best is None else best.leaves)
                    before_this = turn - 1, 0.0 if best is None else best.value
                    done, worth = before_this if work[STOP] else (turn, float(value))
                    best = Found(worth, move, (move,), 0, leaves, int(work[DEEPEST]), done, complete=False)
                if work[STOP] or abs(value) >= WIN - work[PLIES]:
                    break
        return None if best is None else replace(best, nodes=limit.spent - before)

    def _room(self, position: Position, field: Any, depth: int, width: Width) -> tuple[Any, Any]:
        """Return the arrays `work` and `scores` for a search of `depth` turns."""
        plies = depth * PLIES_A_TURN + 1
        lines = ROOM
        kept = lines + (plies + 2) * (plies + 2)
        lists = kept + len(field) * (plies + 1)
        places = lists + MOST * (plies + 1)
        work = zeros(places + len(self.rules.map))
        work[LINES], work[LINE] = lines, plies + 2
        work[KEPT], work[LISTS], work[PLACES] = kept, lists, places
        work[ME], work[FIRST], work[SPLITS] = position.seat, -1, width.splits
        for turn in range(TURNS):
            work[WIDE + turn], work[WIDE + TURNS + turn] = width.drafts[turn], width.attacks[turn]
        if position.phase == "draft":
            for at, units in self._ruled(position).units:
                work[places + at] = units
        return work, zeros(SCORES + MOST * (plies + 1), float)

    def _ruled(self, position: Position) -> Draft:
        move = self.rules.legal_moves(position)[0]
        assert isinstance(move, Draft)
        return move

    def _move(self, position: Position, field: Any, line: list[int]) -> Move:
        """Return the first move of a line as a move of the rules. The halves of a split draft are one move."""
        board, first = self._board, line[0]
        if position.phase == "draft":
            return self._ruled(position) if first == RULE else self._drafted(position, line)
        if first == END:
            return End()
        at = first // 2
        source, to = board[board[SOURCES] + at - board[BORDERS]], board[at]
        units = units_of(board, field, self._odds, first)
        return Attack(int(board[to + INDEX]), int(board[source + INDEX]), int(units))

    def _drafted(self, position: Position, line: list[int]) -> Draft:
        """Return the draft that a line begins with. If the line ends within it, its last place gets the rest."""
        placed, left = dict[int, int](), position.units
        for number in line:
            if left == 0 or number // 2 >= self._board[BORDERS]:
                break
            units = (left + 1) // 2 if number % 2 else left
            at = int(self._board[number // 2 + INDEX])
            placed[at] = placed.get(at, 0) + units
            left -= units
        if left:
            placed[at] += left
        return Draft(tuple(sorted(placed.items())))
