"""The search of the campaign whose drafts are the draft rule's, on flat arrays: expectiminimax, alpha-beta with Star1,
and leaves made calm. At its own draft the seat at the root does not search.

MAX is the seat at the root, every other seat is MIN. A draft is forced, so it is no ply: it is placed on entering the
position, and not where the table knows that already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, get_args

from bots.evaluation.base import EQUAL, WIN
from bots.search.base import Found, Limit, deepen, opinion
from bots.search.kernels import Algorithm
from bots.search.risk import campaign_play as flat
from bots.search.risk import work_buffers
from bots.search.risk.battle_odds import DICE, MEANS, SURE, room_for, throw
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
from bots.search.risk.flat_position import (
    ARMY,
    INDEX,
    MODES,
    NONE,
    OWNED,
    OWNER,
    ROWS,
    SEAT,
    TERRITORIES,
    TROOPS,
    WIDTH,
    estimate,
    peek,
    put,
    scale_values,
    state_of,
)
from bots.search.risk.settings import Battles, CampaignSettings, Drafting
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
from machine.compiled import FAST, compiled, entry, floats, ints, zeros
from protocol.dice import Dice
from protocol.games.risk.campaign import LEAST_CLASSIC, Attack, Campaign, Draft, End, Move, Position
from protocol.games.risk.draft import territories_by_pressure

INFINITY = float("inf")
MOST_ATTACKS = 3
"""Attacks a turn that a search looks at, among candidates and behind a leaf."""
COMPLETE = 4
"""Added to a bound in the table where no evaluation entered the value."""
USUAL = CampaignSettings(draft="rule")
_LOOK_ONCE = CampaignSettings(battles="dice", horizon="plies", draft="rule")
_GREEDY = CampaignSettings(draft="greedy")
NOBODY = -1
_THROWN: Mapping[Battles, int] = {"sure": SURE, "means": MEANS, "dice": DICE}
MOST_PLIES = 40
"""No search looks further ahead."""
LEAST_NODES = 50
"""With fewer to spend nothing is searched."""
ENTRIES = 2**17
"""Positions that the table holds; as many everywhere, for the same moves on every machine."""
ALIKE = 0.1
"""Values no further apart are equal: rounding in `state` comes to some hundredths, of 900,000."""


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


@entry
def place_best(board: Any, state: Any, scale: Any, counts: Any, units: int) -> None:
    """Place unit by unit, each on the own cell where the evaluation gains most, the first of equals; add to `counts`
    how many every territory gets.
    """
    seat = state[SEAT]
    for _ in range(units):
        best, chosen = -float("inf"), ROWS
        for at in range(ROWS, ROWS + WIDTH * board[TERRITORIES], WIDTH):
            if state[at + OWNER] == seat:
                found = peek(board, state, scale, at, seat, state[at + TROOPS] + 1)
                if found > best + ALIKE:
                    best, chosen = found, at
        put(board, state, chosen, seat, state[chosen + TROOPS] + 1)
        counts[board[chosen + INDEX]] += 1


class CampaignSearch:
    """Searches under one config; one at a time."""

    def __init__(self, rules: Campaign) -> None:
        self.rules = rules
        self._values = flat.campaign_board(rules)
        self._board = ints(self._values)
        self._keys = flat.keys_for(len(rules.map))
        self._searches = 0

    @cached_property
    def _memory(self) -> tuple[Any, Any]:
        """The transposition table. The keys of a search begin with its number: it knows nothing of those before."""
        return zeros(2 * ENTRIES), zeros(ENTRIES, float)

    def search(
        self,
        position: Position,
        *,
        depth: int,
        algorithm: Algorithm,
        evaluation: str = "features",
        weights: Sequence[float] = EQUAL,
        settings: CampaignSettings = USUAL,
        below: Callable[[int], int] | None = None,
        candidates: bool = True,
        limit: Limit,
    ) -> Found[Move]:
        """The best move, one turn or ply deeper each time up to `depth`, within `limit`; a legal one whatever happens.

        Depth is counted in turns, or else in plies (`settings.horizon`): a horizon in the middle of a turn makes it
        look good to end one at once, as the next draft comes sooner. At a calm one the seat to move goes on with
        candidates, as long as it gains. The tree has the `candidates` or else every attack with the most units; its
        drafts are the draft rule's. At its own draft the position is answered without a search, by `settings.draft`.
        """
        rules = self.rules
        attacks = min(rules.max_attacks, MOST_ATTACKS) if candidates else rules.max_attacks
        by_turns = settings.horizon == "turns"
        step = attacks if by_turns else 1
        depth = min(depth, MOST_PLIES // step)
        if rules.to_move(position) is None:
            return Found(0.0, None, (), nodes=1, leaves=1, deepest=0, depth=depth, complete=True)
        units = sum(position.troops) + MOST_PLIES * self._most_income
        scale = floats(scale_values(rules.map, weights, opinion(rules), units // len(rules.map) + 1))
        if position.phase == "draft":
            state = state_of(self._board, position, position.seat, MODES[evaluation])
            move = self._drafted(position, settings.draft, below, state, scale)
            after = state_of(self._board, rules.outcomes(position, move)[0][1], position.seat, MODES[evaluation])
            limit.charge(1)
            value = float(estimate(self._board, after, scale))
            return Found(value, move, (move,), nodes=1, leaves=1, deepest=1, depth=1, complete=False)
        if limit.left is not None and limit.left < LEAST_NODES:
            return self._at_once(position, limit)
        play = self._play(position, depth * step, settings, candidates)
        state = state_of(self._board, position, position.seat, MODES[evaluation])
        before = limit.spent

        def look(algorithm: Algorithm, rules: Campaign, root: Position, *, depth: int, limit: Limit) -> Found[Move]:
            """One search of exactly `depth` turns or plies; a turn has at most `step` plies."""
            work_buffers.begin(play, limit.left)
            count = len(rules.map)
            chances = zeros(count + 2 * depth * step * units + room_for(units), float)
            arrays = self._board, state, play, self._keys, scale, chances
            if algorithm == "expectiminimax":
                value = expect(*arrays, count, depth, 0)
            else:
                value = prune(*arrays, *self._memory, count, depth, 0, -INFINITY, INFINITY)
            work_buffers.charge(play, limit)
            result = work_buffers.found(play, value, self._line(root, play), depth)
            if play[flat.FIGHT] == SURE and abs(value) >= WIN - depth * step:
                return replace(result, complete=True)
            return result

        with work_buffers.stopping(play, limit.deadline):
            hasty = deepen(rules, position, partial(look, "expectiminimax"), limit=limit, deepest=int(by_turns))
            play[flat.BY_TURNS] = by_turns
            result = deepen(rules, position, partial(look, algorithm), limit=limit, deepest=depth)
        if not result.depth:
            result = replace(hasty, depth=0) if hasty.depth else self._unfinished(result, position, play)
        return replace(result, nodes=limit.spent - before)

    def look_once(self, position: Position, *, evaluation: str, limit: Limit) -> Found[Move]:
        """The best of every attack with the most units and the end, or of those that `limit` allows, by all that the
        dice may give. The odds of large armies are floats here, where the rules would take seconds for their fractions.
        """
        return self.search(
            position,
            depth=1,
            algorithm="expectiminimax",
            evaluation=evaluation,
            settings=_LOOK_ONCE,
            candidates=False,
            limit=limit,
        )

    def _play(self, position: Position, depth: int, settings: CampaignSettings, candidates: bool) -> Any:
        """Room for a search of this kind."""
        rules = self.rules
        play = flat.play_array(self._values, position, depth)
        play[flat.EVERY], play[flat.CALM] = not candidates, settings.horizon == "calm"
        play[flat.FIGHT] = _THROWN[settings.battles] if rules.battle == "dice" else SURE
        play[flat.NEAR] = position.round + depth >= rules.max_rounds
        if candidates:
            play[flat.LEFT] = min(play[flat.LEFT], MOST_ATTACKS)
            play[flat.A_TURN] = min(play[flat.A_TURN], MOST_ATTACKS)
        self._searches += 1
        play[flat.KEY] = self._searches
        return play

    @cached_property
    def _most_income(self) -> int:
        """Above what any draft places."""
        map_ = self.rules.map
        return len(map_) + LEAST_CLASSIC + sum(continent.bonus for continent in map_.continents)

    def _drafted(
        self, position: Position, how: Drafting, below: Callable[[int], int] | None, state: Any, scale: Any
    ) -> Move:
        """The draft of the seat to move. `state`, which may change, and `scale` are what `greedy` values it by. Raises
        `ValueError` for a `random` one without `below`.
        """
        rules = self.rules
        if how == "greedy":
            counts = zeros(len(rules.map))
            place_best(self._board, state, scale, counts, position.units)
            return Draft(tuple((at, int(count)) for at, count in enumerate(counts) if count))
        if how == "random":
            if below is None:
                raise ValueError("a random draft needs below, which it is drawn with")
            return rules.sample(position, below)
        if how == "front":
            pressure = territories_by_pressure(rules.map.neighbours, position.owner, position.troops, position.seat)
            return Draft(((next(iter(pressure)), position.units),))
        return rules.legal_moves(position)[0]

    def _at_once(self, position: Position, limit: Limit) -> Found[Move]:
        """The attack with the most units to spare, if one has any: a microsecond's work, for want of time."""
        attacks = (move for move in self.rules.legal_moves(position) if isinstance(move, Attack))
        spare = {attack: attack.units - position.troops[attack.to] for attack in attacks}
        best = max(spare, key=lambda attack: spare[attack], default=None)
        move = best if best is not None and spare[best] > 0 else End()
        limit.charge(1)
        return Found(0.0, move, (move,), nodes=1, leaves=0, deepest=0, depth=0, complete=False)

    def _unfinished(self, result: Found[Move], position: Position, play: Any) -> Found[Move]:
        """The best move seen when there was no time to look at all."""
        numbers = work_buffers.best_line(play)
        move = self._move(position, numbers[0], play) if numbers else End()
        return replace(result, move=move, line=(move,))

    def _line(self, root: Position, play: Any) -> tuple[Move, ...]:
        """The principal variation that is in `play`, with its drafts, up to the first battle with dice."""
        rules, position = self.rules, root
        line: list[Move] = []
        left = int(play[flat.LEFT])
        for number in work_buffers.best_line(play):
            line.append(self._move(position, number, play))
            if isinstance(line[-1], Attack) and rules.battle == "dice":
                break
            position = rules.outcomes(position, line[-1])[0][1]
            left -= 1
            if left == 0 and rules.to_move(position) is not None and position.phase == "attack":
                line.append(End())  # the rules would allow more attacks than the search looks at
                position = rules.outcomes(position, line[-1])[0][1]
            if rules.to_move(position) is not None and position.phase == "draft":
                line.append(rules.legal_moves(position)[0])
                position = rules.outcomes(position, line[-1])[0][1]
                left = int(play[flat.A_TURN])
        return tuple(line)

    def _move(self, position: Position, number: int, play: Any) -> Move:
        """A move of the kernels as the rules have it."""
        values = self._values
        if number == values[flat.MOVES]:
            return End()
        source = values[values[values[flat.SOURCES] + number] + INDEX]
        to = values[values[values[flat.BORDERS] + number] + INDEX]
        size = flat.size_of(position.troops[source], position.troops[to], int(play[flat.EVERY]))
        return Attack(to, source, int(size))

    def perft(self, position: Position, depth: int) -> int:
        """The number of paths of exactly `depth` plies, drafts included, every result of a battle on its own."""
        if depth == 0:
            return 1
        if self.rules.to_move(position) is None:
            return 0
        play = flat.play_array(self._values, position, depth)
        state = state_of(self._board, position, NOBODY, NONE)
        pressure = zeros(len(self.rules.map), float)
        play[flat.EVERY], play[flat.DRAFTING] = 1, position.phase == "draft"
        return int(flat.perft(self._board, state, play, self._keys, pressure, depth))

    def warm_up(self) -> None:
        """Compile, or load from disk, all that a match needs; without numba nothing."""
        if not FAST:
            return
        start = self.rules.initial(Dice(bytes(32), 0))[0]
        position = self.rules.outcomes(start, self.rules.legal_moves(start)[0])[0][1]
        self.search(start, depth=1, algorithm="alphabeta", settings=_GREEDY, limit=Limit())
        for algorithm in get_args(Algorithm):
            self.search(position, depth=1, algorithm=algorithm, limit=Limit(nodes=LEAST_NODES))
