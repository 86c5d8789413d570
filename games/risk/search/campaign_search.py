"""The search of the campaign in which drafts follow the draft rule. campaign_nodes.py searches the tree.

A draft at the root is chosen without a search, as `settings.draft` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, get_args

from bots.evaluation.base import EQUAL_WEIGHTS, WIN_VALUE
from bots.search.base import SearchLimit, SearchResult, deepen, evaluation_scale
from bots.search.kernels import Algorithm
from games.risk.rules.campaign import MIN_CLASSIC_DRAFT, Attack, Campaign, Draft, EndTurn, Move, Position
from games.risk.rules.draft import territories_by_pressure
from games.risk.search import battle_odds, work_buffers
from games.risk.search.battle_odds import MEANS_MODE, NO_DICE_MODE, floats_needed
from games.risk.search.campaign_nodes import (
    ALL_ATTACKS,
    BATTLE_MODE,
    DEPTH_IN_TURNS,
    INFINITY,
    MAX_ATTACKS,
    QUIESCENCE,
    ROUND_IN_KEY,
    SEARCH_NUMBER,
    TABLE_SIZE,
    attack_size,
    draft_greedily,
    make_work_array,
    perft,
    search_node,
)
from games.risk.search.flat_campaign import (
    ATTACKS_LEFT,
    ATTACKS_PER_TURN,
    END_MOVE,
    campaign_board,
    make_campaign_state,
)
from games.risk.search.flat_position import BORDER_COUNT, MODES, NO_EVALUATION, evaluate, scale_values, territory_of
from games.risk.search.settings import BattleMode, CampaignSettings, DraftMode
from machine.compiled import HAS_NUMBA, floats, ints, zeros
from protocol.dice import Dice

DEFAULT_SETTINGS = CampaignSettings(draft="rule")
"""The default settings of `CampaignSearch.search`."""
_ONE_PLY_SETTINGS = CampaignSettings(battles="dice", horizon="plies", draft="rule")
"""The settings of `CampaignSearch.search_one_ply`."""
_GREEDY_SETTINGS = CampaignSettings(draft="greedy")
"""The settings of a search that `CampaignSearch.warm_up` runs only so that `draft_greedily` is compiled."""
_BATTLE_MODES: Mapping[BattleMode, int] = {"sure": NO_DICE_MODE, "means": MEANS_MODE, "dice": battle_odds.DICE_MODE}
"""The value of work[BATTLE_MODE] for each value of `settings.battles`."""
MAX_PLIES = 40
"""The greatest depth of a search, in plies."""
MIN_NODES = 50
"""The minimum limit of nodes for a search. Under a lower limit, a move is chosen without a search."""


class CampaignSearch:
    """The search of one campaign in which drafts follow the draft rule. It runs one search at a time."""

    def __init__(self, rules: Campaign) -> None:
        self.rules = rules
        self._board = ints(campaign_board(rules, keys=True))
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

        If `candidates` is true, only candidate attacks are searched (see `list_attacks`), else every attack, with all
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
        given = {"seat": position.seat, "mode": MODES[evaluation]}
        state = make_campaign_state(self._board, position, **given)
        if position.phase == "draft":
            move = self._choose_draft(position, settings.draft, below, state, scale)
            after = make_campaign_state(self._board, rules.outcomes(position, move)[0][1], **given)
            limit.count_nodes(1)
            value = float(evaluate(self._board, after, scale))
            return SearchResult(value, move, (move,), nodes=1, leaves=1, max_ply=1, depth=1, complete=False)
        if limit.nodes_left is not None and limit.nodes_left < MIN_NODES:
            return self._choose_quickly(position, limit)
        for slot in (ATTACKS_LEFT, ATTACKS_PER_TURN):
            state[slot] = min(state[slot], attacks)
        work = self._make_work_array(position, depth * step, settings, candidates)
        before = limit.nodes_spent

        def search_depth(
            algorithm: Algorithm, rules: Campaign, root: Position, *, depth: int, limit: SearchLimit
        ) -> SearchResult[Move]:
            """Return the result of one search that is exactly `depth` turns or plies deep. A turn has at most `step`
            plies. Raise `LimitReached` if the limit is spent.
            """
            work_buffers.reset_counts(work, limit.nodes_left)
            work[SEARCH_NUMBER] = self._searches if algorithm == "alphabeta" else 0
            chances = zeros(len(rules.map) + 2 * depth * step * units + floats_needed(units), float)
            arrays = self._board, state, work, scale, chances, *self._table
            value = search_node(*arrays, len(rules.map), depth, 0, -INFINITY, INFINITY)
            work_buffers.charge_limit(work, limit)
            line = self._principal_variation(root, work, int(state[ATTACKS_LEFT]), attacks)
            result = work_buffers.make_result(work, value, line, depth)
            if work[BATTLE_MODE] == NO_DICE_MODE and abs(value) >= WIN_VALUE - depth * step:
                return replace(result, complete=True)
            return result

        with work_buffers.stop_at(work, limit.deadline):
            hasty = deepen(
                rules, position, partial(search_depth, "expectiminimax"), limit=limit, max_depth=int(by_turns)
            )
            work[DEPTH_IN_TURNS] = by_turns
            result = deepen(rules, position, partial(search_depth, algorithm), limit=limit, max_depth=depth)
        if not result.depth:
            result = replace(hasty, depth=0) if hasty.depth else self._best_so_far(result, position, work)
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

    def _make_work_array(self, position: Position, depth: int, settings: CampaignSettings, candidates: bool) -> Any:
        rules = self.rules
        work = make_work_array(self._board, depth)
        work[ALL_ATTACKS], work[QUIESCENCE] = not candidates, settings.horizon == "calm"
        work[BATTLE_MODE] = _BATTLE_MODES[settings.battles] if rules.battle == "dice" else NO_DICE_MODE
        work[ROUND_IN_KEY] = rules.snake or position.round + depth >= rules.max_rounds
        self._searches += 1
        return work

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

    def _best_so_far(self, result: SearchResult[Move], position: Position, work: Any) -> SearchResult[Move]:
        """Return the best move seen in a search that stopped before it completed any depth."""
        numbers = work_buffers.read_principal_variation(work)
        move = self._decode_move(position, numbers[0], work) if numbers else EndTurn()
        return replace(result, move=move, line=(move,))

    def _principal_variation(self, root: Position, work: Any, left: int, attacks: int) -> tuple[Move, ...]:
        """Return the principal variation that a search has left in `work`, up to the first battle with dice. The
        drafts, which `work` does not contain, are inserted. The search allows `left` attacks in this turn and `attacks`
        in each later turn.
        """
        rules, position = self.rules, root
        line: list[Move] = []
        for number in work_buffers.read_principal_variation(work):
            line.append(self._decode_move(position, number, work))
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
                left = attacks
        return tuple(line)

    def _decode_move(self, position: Position, number: int, work: Any) -> Move:
        if number == END_MOVE:
            return EndTurn()
        board = self._board
        source, to = int(territory_of(board[number + board[BORDER_COUNT]])), int(territory_of(board[number]))
        size = attack_size(position.troops[source], position.troops[to], int(work[ALL_ATTACKS]))
        return Attack(to, source, int(size))

    def perft(self, position: Position, depth: int) -> int:
        """Return the number of game paths of exactly `depth` plies, counting drafts and every result of a battle."""
        if depth == 0:
            return 1
        if self.rules.to_move(position) is None:
            return 0
        work = make_work_array(self._board, depth)
        state = make_campaign_state(self._board, position, mode=NO_EVALUATION)
        work[ALL_ATTACKS] = 1
        work[BATTLE_MODE] = battle_odds.DICE_MODE if self.rules.battle == "dice" else NO_DICE_MODE
        units = sum(position.troops) + depth * self._max_income
        chances = zeros(len(self.rules.map) + 2 * depth * units + floats_needed(units), float)
        return int(perft(self._board, state, work, chances, len(self.rules.map), depth))

    def warm_up(self) -> None:
        if not HAS_NUMBA:
            return
        start = self.rules.initial(Dice(bytes(32), 0))[0]
        position = self.rules.outcomes(start, self.rules.legal_moves(start)[0])[0][1]
        self.search(start, depth=1, algorithm="alphabeta", settings=_GREEDY_SETTINGS, limit=SearchLimit())
        for algorithm in get_args(Algorithm):
            self.search(position, depth=1, algorithm=algorithm, limit=SearchLimit(nodes=MIN_NODES))
