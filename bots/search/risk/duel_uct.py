"""Monte Carlo tree search of bounded Risk on flat arrays, with evaluated leaves and a branch for each result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

from bots.evaluation.base import EQUAL, WIN
from bots.search.base import Found, Limit, opinion
from bots.search.risk import uct_tree
from bots.search.risk.duel_search import BORDERS, CODES, MAX_PLIES, SOURCES, action_of, duel_board, list_moves, placed
from bots.search.risk.flat_position import FEATURES, OWNED, SEAT, TERRITORIES, estimate, put, scale_values, state_of
from bots.search.risk.uct_tree import CHILD, DECISION, NODE, SIBLING, VISITS, follow
from machine.compiled import FAST, compiled, entry, floats, ints, zeros
from machine.generator import SEEDS, SPAN, draw, seeded
from protocol.games.base import NO_DICE
from protocol.games.risk import duel
from protocol.games.risk.duel import FREE, Action, Duel, Position
from protocol.messages import Event

AT, CHOSEN, LISTED = 2, 8, 136
"""work[AT] is the ply of the root; the nodes of a simulation begin at CHOSEN, the moves at LISTED."""
MOST_DEPTH = LISTED - CHOSEN
EXPLORATION = 0.4
"""The constant of PUCT."""
_TAKEN = int(duel.TAKEN * SPAN)
"""An attack takes the territory if the random number is below this."""


@compiled
def select(tree: Any, totals: Any, work: Any, found: Any, node: int, last: int, count: int) -> int:
    """Return the move to visit by PUCT with uniform priors (Rosin 2011). `last` is 1 after a successful attack."""
    child, visits, total = tree[node + CHILD], 0, 0.0
    while child:
        found[tree[child + DECISION]] = child
        if tree[child + DECISION] % 2 == last:
            visits += tree[child + VISITS]
            total += totals[child // NODE]
        child = tree[child + SIBLING]
    mean = total / visits if visits else 0.5
    reach = EXPLORATION * sqrt(visits + 1) / count
    best, chosen = -1.0, 0
    for i in range(count):
        child = found[2 * work[LISTED + i] + last]
        value = mean + reach
        if child:
            value = totals[child // NODE] / tree[child + VISITS] + reach / (1 + tree[child + VISITS])
        if value > best:
            best, chosen = value, i
    child = tree[node + CHILD]
    while child:
        found[tree[child + DECISION]] = 0
        child = tree[child + SIBLING]
    return work[LISTED + chosen]  # type: ignore[no-any-return]


@compiled
def play(board: Any, state: Any, luck: Any, mover: int, move: int) -> int:
    """Play a move. Return 1 if it is an attack that succeeds, else 0."""
    if move < board[BORDERS]:
        put(board, state, move, mover, placed(board, state, move))
        return 0
    source, to = board[move + board[SOURCES]], board[move]
    if draw(luck) < _TAKEN:
        put(board, state, to, mover, 1)
        return 1
    rest = state[source + 1] - state[to + 1]
    put(board, state, source, mover if rest else FREE, rest)
    return 0


@entry
def simulate(
    board: Any,
    root: Any,
    state: Any,
    scale: Any,
    luck: Any,
    tree: Any,
    totals: Any,
    work: Any,
    found: Any,
    sims: int,
) -> None:
    """Add `sims` simulations to the tree. `luck` is the state of the random generator."""
    for _ in range(sims):
        state[:] = root
        node = last = depth = 0
        value = -1.0
        while value < 0.0:
            mover = state[SEAT] ^ (depth & 1)
            count = list_moves(board, state, work, mover, LISTED) - LISTED
            move = select(tree, totals, work, found, node, last, count)
            node = follow(tree, totals, work, node, 2 * move + last)
            last = play(board, state, luck, mover, move)
            if node:
                work[CHOSEN + depth] = node
                depth += 1
            if state[OWNED + mover] == board[TERRITORIES]:
                value = 1.0 if mover == state[SEAT] else 0.0
            elif work[AT] + depth >= board[MAX_PLIES]:
                value = 0.5
            elif not node or not tree[node + VISITS] or depth == MOST_DEPTH:
                value = 0.5 + 0.5 * estimate(board, state, scale) / WIN
        for i in range(depth):
            tree[work[CHOSEN + i] + VISITS] += 1
            totals[work[CHOSEN + i] // NODE] += 1.0 - value if i & 1 else value


class DuelUct:
    """Searches bounded Risk with one configuration, one search at a time."""

    at_once: ClassVar[int] = uct_tree.AT_ONCE

    def __init__(self, rules: Duel) -> None:
        self.rules = rules
        self._values = duel_board(rules)
        self._board = ints(self._values)
        self._scale = floats([*scale_values(rules.map, EQUAL, opinion(rules), rules.max_troops), opinion(rules)])

    @cached_property
    def _room(self) -> tuple[Any, ...]:
        """Tree, totals, `work`, and the array in which `select` looks up children."""
        codes = self._values[CODES]
        return *uct_tree.room(), zeros(LISTED + codes), zeros(2 * codes)

    def search(
        self, position: Position, *, events: Sequence[Event] = (), below: Callable[[int], int], limit: Limit
    ) -> Found[Action]:
        """Return the most visited action within `limit`, which counts simulations; without any, the first legal one.

        It ignores `events`: every player is assumed to play well. `below(n)` returns a random number from 0 to n − 1.
        """
        if self.rules.to_move(position) is None:
            return Found(0.0, None, (), nodes=1, leaves=1, deepest=0, depth=0, complete=True)
        tree, totals, work, found = self._room
        uct_tree.plant(tree, work)
        work[AT] = position.at
        root, luck = state_of(self._board, position, position.seat, FEATURES), ints(seeded(below(SEEDS)))
        given = self._board, root, ints(root), self._scale, luck
        before = limit.spent
        uct_tree.in_portions(lambda sims: simulate(*given, tree, totals, work, found, sims), tree, limit)
        child, sims = uct_tree.favourite(tree, totals, 0), limit.spent - before
        if not child:
            move = self.rules.legal_moves(position)[0]
            return Found(0.0, move, (move,), nodes=1, leaves=0, deepest=0, depth=0, complete=False)
        value = float(totals[child // NODE] / tree[child + VISITS])
        action = action_of(self._values, position, int(tree[child + DECISION]) // 2)
        return Found(value, action, (action,), nodes=sims, leaves=sims, deepest=1, depth=1, complete=False)

    def worth(self, position: Position, seat: int, sims: int, below: Callable[[int], int]) -> float:
        """Return the mean value for `seat` of `sims` simulations from an unfinished position."""
        value = self.search(position, below=below, limit=Limit(nodes=sims)).value
        return value if position.seat == seat else 1.0 - value

    def warm_up(self) -> None:
        if FAST:
            self.search(self.rules.initial(NO_DICE)[0], below=lambda _: 0, limit=Limit(nodes=uct_tree.LEAST))
