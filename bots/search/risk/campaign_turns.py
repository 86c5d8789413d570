"""The search of the campaign by turns: positions and moves of the rules outside, flat arrays within."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from bots.evaluation.base import WIN
from bots.search.base import Found, Limit, opinion
from bots.search.risk import move_evaluation, turn_search
from bots.search.risk.campaign_play import ATTACKS, BORDERS, SOURCES, campaign_board, keys_for
from bots.search.risk.campaign_tree import INFINITY, MOST_ATTACKS
from bots.search.risk.field import LEFT, field_of
from bots.search.risk.flat_position import INDEX, MODES
from bots.search.risk.odds import odds_table
from bots.search.risk.raiding import Raiding
from bots.search.risk.work_buffers import DEEPEST, LEAVES, LINE, LINES, NODES, STOP, begin, best_line, stopping
from bots.search.settings import Algorithm
from machine.compiled import floats, ints, zeros
from protocol.games.risk.campaign import Attack, Campaign, Draft, End, Move, Position

EVALUATIONS = {**MODES, "outlook": move_evaluation.OUTLOOK}
"""As `work[MODE]`."""
PLIES_A_TURN = MOST_ATTACKS + 2
"""A draft in halves, and attacks."""
DEEPEST_TURNS = 6
"""No search looks further ahead."""
ENTRIES = 2**17
"""Positions that the table holds; as many everywhere, for the same moves on every machine."""


class Width(NamedTuple):
    """The moves that are looked at: by turn, the last for all that follow, and half drafts at the root."""

    drafts: Sequence[int]
    attacks: Sequence[int]
    splits: int


USUAL = Width((6, 2, 2, 2), (3, 1, 1, 1), 2)
EVERY = Width((turn_search.MOST // 2,) * turn_search.TURNS, (turn_search.MOST - 1,) * turn_search.TURNS, 2)
"""As many as a list has room for."""


class TurnSearch:
    """Searches under one config; one at a time."""

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
        """The transposition table. The keys of a search begin with its number: it knows nothing of those before."""
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
        """The best move, one turn deeper each time up to `depth` or, at once, so many `plies` deep; None where `limit`
        allowed to look at no move. Where the last depth was not finished its best move counts: it began with that of
        the depth before.
        """
        deepest = min(depth, DEEPEST_TURNS)
        field = self._field(position)
        work, scores = self._room(position, field, deepest, width)
        work[turn_search.MODE] = EVALUATIONS[evaluation]
        work[turn_search.PLIES] = deepest * PLIES_A_TURN if plies is None else plies
        if algorithm == "alphabeta":
            self._searches += 1
            work[turn_search.SEARCH] = self._searches
        given = self._board, field, self._odds, self._raid, floats(weights), self._keys, work, scores, self._path
        best: Found[Move] | None = None
        before = limit.spent
        with stopping(work, limit.deadline):
            for turn in range(1, deepest + 1) if algorithm == "alphabeta" else (deepest,):
                begin(work, limit.left)
                work[work[LINES]] = 0
                value = turn_search.look(*given, *self._memory, opinion(self.rules), turn, turn, 0, -INFINITY, INFINITY)
                limit.charge(int(work[NODES]))
                if line := best_line(work):
                    work[turn_search.FIRST] = line[0]
                    best = self._found(position, field, line, work, turn, float(value), best)
                if work[STOP] or abs(value) >= WIN - work[turn_search.PLIES]:
                    break
        return None if best is None else replace(best, nodes=limit.spent - before)

    def _field(self, position: Position) -> Any:
        field = field_of(self.rules, position, 0)
        field[LEFT] = min(field[LEFT], MOST_ATTACKS)
        return field

    def _room(self, position: Position, field: Any, depth: int, width: Width) -> tuple[Any, Any]:
        """`work` and `scores` for so many turns."""
        plies = depth * PLIES_A_TURN + 1
        lines = turn_search.ROOM
        kept = lines + (plies + 2) * (plies + 2)
        lists = kept + len(field) * (plies + 1)
        places = lists + turn_search.MOST * (plies + 1)
        work = zeros(places + len(self.rules.map))
        work[LINES], work[LINE], work[turn_search.KEPT], work[turn_search.LISTS], work[turn_search.PLACES] = (
            lines,
            plies + 2,
            kept,
            lists,
            places,
        )
        work[turn_search.ME], work[turn_search.FIRST], work[turn_search.SPLITS] = position.seat, -1, width.splits
        for turn in range(turn_search.TURNS):
            work[turn_search.WIDE + turn], work[turn_search.WIDE + turn_search.TURNS + turn] = (
                width.drafts[turn],
                width.attacks[turn],
            )
        if position.phase == "draft":
            for at, units in self._ruled(position).units:
                work[places + at] = units
        return work, zeros(turn_search.SCORES + turn_search.MOST * (plies + 1), float)

    def _ruled(self, position: Position) -> Draft:
        """The draft of the draft rule."""
        move = self.rules.legal_moves(position)[0]
        assert isinstance(move, Draft)
        return move

    def _found(
        self,
        position: Position,
        field: Any,
        line: list[int],
        work: Any,
        turn: int,
        value: float,
        before: Found[Move] | None,
    ) -> Found[Move]:
        """What a search of `turn` turns found, or the first part of one that was stopped."""
        move = self._move(position, field, line)
        if work[STOP]:
            turn, value = turn - 1, 0.0 if before is None else before.value
        return Found(
            value=value,
            move=move,
            line=(move,),
            nodes=int(work[NODES]),
            leaves=int(work[LEAVES]) + (0 if before is None else before.leaves),
            deepest=int(work[DEEPEST]),
            depth=turn,
            complete=False,
        )

    def _move(self, position: Position, field: Any, line: list[int]) -> Move:
        """The move that a line begins with, as the rules have it: a draft in halves is one."""
        board, first = self._board, line[0]
        if position.phase == "draft":
            return self._ruled(position) if first == turn_search.RULE else self._drafted(position, line)
        if first == turn_search.END:
            return End()
        at = first // 2
        source, to = board[board[SOURCES] + at - board[BORDERS]], board[at]
        units = turn_search.units_of(board, field, self._odds, first)
        return Attack(int(board[to + INDEX]), int(board[source + INDEX]), int(units))

    def _drafted(self, position: Position, line: list[int]) -> Draft:
        """The draft of a line, its last part where the line does not end it."""
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
