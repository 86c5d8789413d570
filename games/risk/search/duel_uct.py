"""Monte Carlo tree search of bounded Risk on flat arrays. Leaves are evaluated. Each attack result is a branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

from bots.evaluation.base import EQUAL_WEIGHTS, WIN_VALUE
from bots.search.base import SearchLimit, SearchResult, evaluation_scale
from games.risk.rules.duel import Action, Duel, Position
from games.risk.search import uct_tree
from games.risk.search.flat_duel import MAX_PLIES, decode_move, duel_board, list_moves, play_move
from games.risk.search.flat_position import (
    BORDERS_END,
    FEATURES,
    SEAT,
    TERRITORIES_OF_SEAT,
    TERRITORY_COUNT,
    evaluate,
    make_state,
    scale_values,
)
from games.risk.search.uct_tree import CHILD, DECISION, NODE_LENGTH, SIBLING, VISITS, find_or_add_child
from machine.compiled import HAS_NUMBA, compiled, entry, floats, ints, zeros
from machine.generator import SEED_COUNT, seed_state
from protocol.games.base import NO_DICE
from protocol.messages import Event

ROOT_PLY, PATH, MOVES = 2, 8, 136
"""These are indices of the array `work`:

- ROOT_PLY: the ply of the root.
- PATH: where the list of the nodes that a simulation visits begins.
- MOVES: where the list of the legal moves of a position begins.
"""
MAX_DEPTH = MOVES - PATH
"""The maximum number of nodes on the path of a simulation."""
EXPLORATION = 0.4
"""The exploration constant of PUCT, the formula that chooses the move to visit."""


@compiled
def select_move(tree: Any, totals: Any, work: Any, found: Any, node: int, last: int, count: int) -> int:
    """Return the move to visit by PUCT with uniform priors (Rosin 2011). `last` is 1 if the simulation's move before
    this one was a successful attack, else 0.
    """
    child, visits, total = tree[node + CHILD], 0, 0.0
    while child:
        found[tree[child + DECISION]] = child
        if tree[child + DECISION] % 2 == last:
            visits += tree[child + VISITS]
            total += totals[child // NODE_LENGTH]
        child = tree[child + SIBLING]
    mean = total / visits if visits else 0.5
    reach = EXPLORATION * sqrt(visits + 1) / count
    best, chosen = -1.0, 0
    for i in range(count):
        child = found[2 * work[MOVES + i] + last]
        value = mean + reach
        if child:
            value = totals[child // NODE_LENGTH] / tree[child + VISITS] + reach / (1 + tree[child + VISITS])
        if value > best:
            best, chosen = value, i
    child = tree[node + CHILD]
    while child:
        found[tree[child + DECISION]] = 0
        child = tree[child + SIBLING]
    return work[MOVES + chosen]  # type: ignore[no-any-return]


@entry
def simulate(
    board: Any,
    root: Any,
    state: Any,
    scale: Any,
    rng: Any,
    tree: Any,
    totals: Any,
    work: Any,
    found: Any,
    sims: int,
) -> None:
    """Add `sims` simulations to the tree. `rng` is the state of the random generator that rolls the dice."""
    for _ in range(sims):
        state[:] = root
        node = last = depth = 0
        value = -1.0
        while value < 0.0:
            mover = state[SEAT] ^ (depth & 1)
            count = list_moves(board, state, work, mover, MOVES) - MOVES
            move = select_move(tree, totals, work, found, node, last, count)
            node = find_or_add_child(tree, totals, work, node, 2 * move + last)
            last = play_move(board, state, rng, mover, move)
            if node:
                work[PATH + depth] = node
                depth += 1
            if state[TERRITORIES_OF_SEAT + mover] == board[TERRITORY_COUNT]:
                value = 1.0 if mover == state[SEAT] else 0.0
            elif work[ROOT_PLY] + depth >= board[MAX_PLIES]:
                value = 0.5
            elif not node or not tree[node + VISITS] or depth == MAX_DEPTH:
                value = 0.5 + 0.5 * evaluate(board, state, scale) / WIN_VALUE
        for i in range(depth):
            tree[work[PATH + i] + VISITS] += 1
            totals[work[PATH + i] // NODE_LENGTH] += 1.0 - value if i & 1 else value


class DuelUct:
    """A kernel for the tree search of bounded Risk under one config. It runs one search at a time."""

    nodes_per_ms: ClassVar[int] = uct_tree.SIMULATIONS_PER_MS

    def __init__(self, rules: Duel) -> None:
        self.rules = rules
        self._values = duel_board(rules)
        self._board = ints(self._values)
        self._scale = floats(
            [
                *scale_values(rules.map, EQUAL_WEIGHTS, evaluation_scale(rules), rules.max_troops),
                evaluation_scale(rules),
            ]
        )

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        """The arrays of the search: `tree`, `totals`, `work`, and `found`, in which `select_move` looks up a node's
        child by its decision.
        """
        codes = self._values[BORDERS_END]
        return *uct_tree.make_arrays(), zeros(MOVES + codes), zeros(2 * codes)

    def search(
        self, position: Position, *, events: Sequence[Event] = (), below: Callable[[int], int], limit: SearchLimit
    ) -> SearchResult[Action]:
        """Return the most visited move within `limit`, which counts simulations. If `limit` allows none, return the
        first legal move.

        The search ignores `events`, from which `CampaignUct.search` learns how opponents play. It assumes that the
        opponent plays well. `below(n)` returns a random number from 0 to n − 1.
        """
        if self.rules.to_move(position) is None:
            return SearchResult(0.0, None, (), nodes=1, leaves=1, max_ply=0, depth=0, complete=True)
        tree, totals, work, found = self._arrays
        uct_tree.reset_tree(tree, work)
        work[ROOT_PLY] = position.at
        root, luck = make_state(self._board, position, position.seat, FEATURES), ints(seed_state(below(SEED_COUNT)))
        given = self._board, root, ints(root), self._scale, luck
        before = limit.nodes_spent
        uct_tree.run_simulations(lambda sims: simulate(*given, tree, totals, work, found, sims), tree, limit)
        child, sims = uct_tree.most_visited_child(tree, totals, 0), limit.nodes_spent - before
        if not child:
            move = self.rules.legal_moves(position)[0]
            return SearchResult(0.0, move, (move,), nodes=1, leaves=0, max_ply=0, depth=0, complete=False)
        value = float(totals[child // NODE_LENGTH] / tree[child + VISITS])
        action = decode_move(self._values, position, int(tree[child + DECISION]) // 2)
        return SearchResult(value, action, (action,), nodes=sims, leaves=sims, max_ply=1, depth=1, complete=False)

    def estimate_wins(self, position: Position, seat: int, sims: int, below: Callable[[int], int]) -> float:
        """Estimate the score of `seat` (a win is 1, a draw ½) from an unfinished position by `sims` simulations."""
        value = self.search(position, below=below, limit=SearchLimit(nodes=sims)).value
        return value if position.seat == seat else 1.0 - value

    def warm_up(self) -> None:
        if HAS_NUMBA:
            self.search(
                self.rules.initial(NO_DICE)[0], below=lambda _: 0, limit=SearchLimit(nodes=uct_tree.MIN_SIMULATIONS)
            )
