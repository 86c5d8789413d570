"""The search of the campaign whose drafts are the draft rule's: positions and moves of the rules outside, flat arrays
within.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, get_args

from bots.evaluation.base import EQUAL, WIN
from bots.search.base import Found, Limit, opinion
from bots.search.iterative_deepening import deepen
from bots.search.risk import campaign_play as flat
from bots.search.risk import campaign_tree as tree
from bots.search.risk.campaign_battle import DICE, MEANS, SURE, room_for
from bots.search.risk.drafting import drafted
from bots.search.risk.flat_position import INDEX, MODES, NONE, estimate, scale_values, state_of
from bots.search.risk.settings import Battles, CampaignSettings, Drafting
from bots.search.risk.work_buffers import AT_ONCE, begin, best_line, charge, found, stopping
from bots.search.settings import Algorithm
from machine.compiled import FAST, floats, ints, zeros
from protocol.dice import Dice
from protocol.games.risk.campaign import LEAST_CLASSIC, Attack, Campaign, End, Move, Position

USUAL = CampaignSettings(draft="rule")
_LOOK_ONCE = CampaignSettings(battles="dice", horizon="plies", draft="rule")
_GREEDY = CampaignSettings(draft="greedy")
NOBODY = -1
_THROWN: Mapping[Battles, int] = {"sure": SURE, "means": MEANS, "dice": DICE}
DEEPEST = 40
"""No search looks further ahead."""
LEAST_NODES = 50
"""With fewer to spend nothing is searched."""
ENTRIES = 2**17
"""Positions that the table holds; as many everywhere, for the same moves on every machine."""


class CampaignSearch:
    """Searches under one config; one at a time."""

    usual_depth: ClassVar[int] = 1
    at_once: ClassVar[int] = AT_ONCE

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
        drafts are the draft rule's. At its own draft the position is answered without a search, by `settings.draft`
        (see drafting.py).
        """
        rules = self.rules
        attacks = min(rules.max_attacks, tree.MOST_ATTACKS) if candidates else rules.max_attacks
        by_turns = settings.horizon == "turns"
        step = attacks if by_turns else 1
        depth = min(depth, DEEPEST // step)
        if rules.to_move(position) is None:
            return Found(0.0, None, (), nodes=1, leaves=1, deepest=0, depth=depth, complete=True)
        units = sum(position.troops) + DEEPEST * self._most_income
        scale = floats(scale_values(rules.map, weights, opinion(rules), units // len(rules.map) + 1))
        if position.phase == "draft":
            return self._drafted(position, settings.draft, below, MODES[evaluation], scale, limit)
        if limit.left is not None and limit.left < LEAST_NODES:
            return self._at_once(position, limit)
        play = self._play(position, depth * step, settings, candidates)
        state = state_of(self._board, position, position.seat, MODES[evaluation])
        look = partial(self._look, state, play, scale, units, step)
        before = limit.spent
        with stopping(play, limit.deadline):
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
            play[flat.LEFT] = min(play[flat.LEFT], tree.MOST_ATTACKS)
            play[flat.A_TURN] = min(play[flat.A_TURN], tree.MOST_ATTACKS)
        self._searches += 1
        play[flat.KEY] = self._searches
        return play

    def _look(
        self,
        state: Any,
        play: Any,
        scale: Any,
        units: int,
        step: int,
        algorithm: Algorithm,
        rules: Campaign,
        root: Position,
        *,
        depth: int,
        limit: Limit,
    ) -> Found[Move]:
        """One search of exactly `depth` turns or plies; a turn has at most `step` plies."""
        begin(play, limit.left)
        count = len(rules.map)
        chances = zeros(count + 2 * depth * step * units + room_for(units), float)
        arrays = self._board, state, play, self._keys, scale, chances
        if algorithm == "expectiminimax":
            value = tree.expect(*arrays, count, depth, 0)
        else:
            value = tree.prune(*arrays, *self._memory, count, depth, 0, -tree.INFINITY, tree.INFINITY)
        charge(play, limit)
        result = found(play, value, self._line(root, play), depth)
        if play[flat.FIGHT] == SURE and abs(value) >= WIN - depth * step:
            return replace(result, complete=True)
        return result

    @cached_property
    def _most_income(self) -> int:
        """Above what any draft places."""
        map_ = self.rules.map
        return len(map_) + LEAST_CLASSIC + sum(continent.bonus for continent in map_.continents)

    def _drafted(
        self,
        position: Position,
        draft: Drafting,
        below: Callable[[int], int] | None,
        mode: int,
        scale: Any,
        limit: Limit,
    ) -> Found[Move]:
        """The draft, and what the position after it looks like."""
        state = state_of(self._board, position, position.seat, mode)
        move = drafted(self.rules, position, draft, below, self._board, state, scale)
        after = self.rules.outcomes(position, move)[0][1]
        limit.charge(1)
        value = estimate(self._board, state_of(self._board, after, position.seat, mode), scale)
        return Found(float(value), move, (move,), nodes=1, leaves=1, deepest=1, depth=1, complete=False)

    def _at_once(self, position: Position, limit: Limit) -> Found[Move]:
        """The attack with the most units to spare, if one has any: a microsecond's work, for want of time."""
        moves = self.rules.legal_moves(position)
        attacks = [move for move in moves if isinstance(move, Attack)]
        spare = {move: move.units - position.troops[move.to] for move in attacks}
        best = max(attacks, key=lambda move: spare[move], default=None)
        move = best if best is not None and spare[best] > 0 else End()
        limit.charge(1)
        return Found(0.0, move, (move,), nodes=1, leaves=0, deepest=0, depth=0, complete=False)

    def _unfinished(self, result: Found[Move], position: Position, play: Any) -> Found[Move]:
        """The best move seen when there was no time to look at all."""
        numbers = best_line(play)
        move = self._move(position, numbers[0], play) if numbers else End()
        return replace(result, move=move, line=(move,))

    def _line(self, root: Position, play: Any) -> tuple[Move, ...]:
        """The principal variation that is in `play`, with its drafts, up to the first battle with dice."""
        rules, position = self.rules, root
        line: list[Move] = []
        left = int(play[flat.LEFT])
        for number in best_line(play):
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
