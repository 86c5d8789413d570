"""The search of bounded Risk: positions and actions of the rules outside, flat arrays within."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, get_args

from bots.evaluation.base import EQUAL
from bots.search.base import Found, Limit, opinion
from bots.search.iterative_deepening import DEEPEST, deepen
from bots.search.risk import duel_alpha_beta as pruning
from bots.search.risk import duel_expectiminimax as tree
from bots.search.risk.flat_position import INDEX, MODES, NONE, scale_values, state_of
from bots.search.risk.settings import DuelSettings
from bots.search.risk.work_buffers import AT_ONCE, begin, best_line, charge, found, stopping
from bots.search.settings import Algorithm
from machine.compiled import FAST, floats, ints, zeros
from protocol.games.base import NO_DICE
from protocol.games.risk.duel import FREE, Action, Duel, Position

USUAL = DuelSettings()
SLOTS = 2**18
"""Positions that are remembered; as many everywhere, for the same moves on every machine."""


class DuelSearch:
    """Searches under one config; one at a time."""

    usual_depth: ClassVar[int] = 3
    at_once: ClassVar[int] = AT_ONCE

    def __init__(self, rules: Duel) -> None:
        self.rules = rules
        self._values = tree.duel_board(rules)
        self._board = ints(self._values)
        self._searches = 0

    @cached_property
    def _memory(self) -> tuple[Any, Any]:
        """The transposition table. The keys of a search begin with its number: it knows nothing of those before."""
        return zeros(pruning.SLOT * SLOTS), zeros(SLOTS, float)

    def search(
        self,
        position: Position,
        *,
        depth: int,
        algorithm: Algorithm,
        evaluation: str = "features",
        weights: Sequence[float] = EQUAL,
        settings: DuelSettings = USUAL,
        below: Callable[[int], int] | None = None,
        limit: Limit,
    ) -> Found[Action]:
        """The best move, one ply deeper each time up to `depth`, within `limit`; a legal one whatever happens.

        Nodes run over by fewer than one position has results. The line ends early where the table knew the rest.
        """
        rules = self.rules
        if rules.to_move(position) is None:
            return Found(0.0, None, (), nodes=1, leaves=1, deepest=0, depth=depth, complete=True)
        depth = min(depth, DEEPEST, rules.max_plies - position.at)
        work = tree.work_array(self._values, depth, position.at)
        scale = self._scale(evaluation, weights)
        state = state_of(self._board, position, position.seat, MODES[evaluation])
        self._searches += 1
        look = partial(self._look, state, scale, work, algorithm)
        with stopping(work, limit.deadline):
            return deepen(rules, position, look, limit=limit, deepest=depth)

    def _look(
        self,
        state: Any,
        scale: Any,
        work: Any,
        algorithm: Algorithm,
        rules: Duel,
        root: Position,
        *,
        depth: int,
        limit: Limit,
    ) -> Found[Action]:
        """One search `depth` plies deep. Raises `LimitReached`."""
        begin(work, limit.left)
        arrays = self._board, state, scale, work
        if algorithm == "expectiminimax":
            value = tree.expect(*arrays, depth, 0)
        else:
            value = pruning.prune(*arrays, *self._memory, depth, 0, -tree.INFINITY, tree.INFINITY, self._searches)
        charge(work, limit)
        return found(work, value, self._line(root, work), depth)

    def _line(self, root: Position, work: Any) -> tuple[Action, ...]:
        """The principal variation that is in `work`."""
        position, line = root, []
        for move in best_line(work):
            action = self._action(position, move)
            line.append(action)
            position = self.rules.outcomes(position, action)[0][1]
        return tuple(line)

    def _action(self, position: Position, move: int) -> Action:
        """A move of the kernels as the rules have it."""
        values = self._values
        if move < values[tree.BORDERS]:
            return Action("invade" if FREE in position.owner else "reinforce", values[move + INDEX])
        return Action("attack", values[values[move] + INDEX], values[values[move + values[tree.SOURCES]] + INDEX])

    def perft(self, position: Position, depth: int) -> int:
        """The number of paths of exactly `depth` plies, every result of chance on its own."""
        depth_left = self.rules.max_plies - position.at
        if depth == 0:
            return 1
        if depth > depth_left or self.rules.to_move(position) is None:
            return 0
        work = tree.work_array(self._values, depth, position.at)
        return int(tree.count_paths(self._board, state_of(self._board, position, position.seat, NONE), work, depth, 0))

    def warm_up(self) -> None:
        """Compile, or load from disk, all that a match needs; without numba nothing."""
        if not FAST:
            return
        position = self.rules.initial(NO_DICE)[0]
        for algorithm in get_args(Algorithm):
            self.search(position, depth=2, algorithm=algorithm, limit=Limit())

    def _scale(self, evaluation: str, weights: Sequence[float]) -> Any:
        worth = opinion(self.rules)
        values = scale_values(self.rules.map, weights, worth, self.rules.max_troops)
        return floats([*values, 0.0 if evaluation == "none" else worth])
