"""What all searches share: how a game is seen from MAX, what is counted, when to stop, what comes out; and how each may
look one ply deeper each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from bots.evaluation import scale_of
from bots.evaluation.base import Evaluate, no_opinion
from protocol.errors import Fault
from protocol.games import NAMES, game_class
from protocol.games.base import Game
from protocol.games.simultaneous import SimultaneousGame

S = TypeVar("S")
M = TypeVar("M", bound=Hashable)

ENDLESS = 1_000_000
"""A depth that no game reaches: search to the end."""
DEEPEST = 200
"""How deep iterative deepening goes where nobody says."""
SEARCHED = tuple(
    name for name in NAMES if not (game_class(name).hidden or issubclass(game_class(name), SimultaneousGame))
)
"""The games in which one seat at a time moves, and sees all there is."""


def win_value(rules: Game[Any, Any]) -> float:
    """The value of a win now: above the game's longest play."""
    return scale_of(rules.name).win


def opinion(rules: Game[Any, Any]) -> float:
    """What an evaluation of 1 is worth."""
    return scale_of(rules.name).opinion


class HasChance(Fault):
    """A search for games without chance was given a game with chance."""

    def __init__(self, game: str) -> None:
        super().__init__(f"{game} has chance: search it with expectiminimax or star1")


class LimitReached(Exception):
    """The time or the nodes of a search's `Limit` are used up."""


class Limit:
    """What a search may spend. It may be shared by several searches, which then spend from one purse."""

    def __init__(
        self,
        *,
        nodes: int | None = None,
        deadline: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.left = nodes
        """Nodes still to spend; None: as many as there are."""
        self.deadline = deadline
        """By the clock given; None: whenever."""
        self._clock = clock
        self.spent = 0
        """Nodes so far."""

    def spend(self) -> None:
        """Account for one node. Raises `LimitReached` when `nodes` were spent or, by a look now and then, `deadline` is
        past.
        """
        self.spent += 1
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise LimitReached
        if self.deadline is not None and not self.spent & 31 and self._clock() >= self.deadline:
            raise LimitReached

    def charge(self, nodes: int) -> None:
        """Account for nodes that a kernel visited."""
        self.spent += nodes
        if self.left is not None:
            self.left -= nodes


@dataclass(frozen=True, slots=True)
class Found(Generic[M]):
    """What a search found."""

    value: float
    """For the seat to move: WIN − plies if it wins, plies − WIN if it loses, 0 for a draw, else an evaluation."""
    move: M | None
    """The best move; None only where the game is over."""
    line: tuple[M, ...]
    """The principal variation, up to the first move that chance has a say in."""
    nodes: int
    """Positions visited, the root included."""
    leaves: int
    """Those among them that were finished or at the horizon."""
    deepest: int
    """Plies from the root to the deepest node."""
    depth: int
    """How deep it was asked to look; where a search deepens, the last depth it finished."""
    complete: bool
    """The value is that of the whole game: no evaluation entered it."""


class Tree(Generic[S, M]):
    """A game seen from MAX, the seat to move at the root (every other seat is MIN), and the count of visits."""

    def __init__(
        self,
        rules: Game[S, M],
        root: S,
        *,
        evaluate: Evaluate = no_opinion,
        limit: Limit | None = None,
    ) -> None:
        self.rules = rules
        self.win = win_value(rules)
        self.seat = rules.to_move(root)
        self._evaluate = evaluate
        self._opinion = opinion(rules)
        self._limit = limit
        self.nodes = self.leaves = self.estimates = self.deepest = 0

    def enter(self, ply: int) -> None:
        """Count a visit, `ply` plies below the root. Raises `LimitReached`."""
        self.nodes += 1
        if ply > self.deepest:
            self.deepest = ply
        if self._limit is not None:
            self._limit.spend()

    def final(self, state: S, ply: int) -> float:
        """The value of a finished state: a shared first place is a draw, any other place but the first a loss."""
        self.leaves += 1
        if self.seat is None:
            return 0.0
        ranks = self.rules.ranks(state)
        if ranks[self.seat] > 1:
            return ply - self.win
        return self.win - ply if ranks.count(1) == 1 else 0.0

    def estimate(self, state: S) -> float:
        """The value of an unfinished state at the horizon."""
        self.leaves += 1
        self.estimates += 1
        return self._opinion * self._evaluate(self.rules, state, self.seat or 0)

    def only(self, state: S, move: M) -> S:
        """The one result of a move. Raises `HasChance` where there are more."""
        outcomes = self.rules.outcomes(state, move)
        if len(outcomes) > 1:
            raise HasChance(self.rules.name)
        return outcomes[0][1]

    def found(self, value: float, line: tuple[M, ...], depth: int) -> Found[M]:
        """The result, with the counts."""
        return Found(
            value=value,
            move=line[0] if line else None,
            line=line,
            nodes=self.nodes,
            leaves=self.leaves,
            deepest=self.deepest,
            depth=depth,
            complete=self.estimates == 0,
        )


def deepen(
    rules: Game[S, M], root: S, search: Callable[..., Found[M]], *, limit: Limit, deepest: int = DEEPEST, **options: Any
) -> Found[M]:
    """Iterative deepening: `search` (any of this package that takes a depth) with `options` at depth 1, 2, 3… up to
    `deepest`.

    It stops where `limit` is spent, the whole game is seen, or a win or loss is forced. The result is that of the last
    depth that was finished, with the nodes of all and the leaves of those finished; when none was, the move is the
    first legal one.
    """
    found: Found[M] | None = None
    before, leaves = limit.spent, 0
    win = win_value(rules)
    for depth in range(1, deepest + 1):
        try:
            found = search(rules, root, depth=depth, limit=limit, **options)
        except LimitReached:
            break
        leaves += found.leaves
        if found.complete or abs(found.value) == win - len(found.line):
            break
    if found is None:
        moves = rules.legal_moves(root)
        found = Found(0.0, moves[0] if moves else None, tuple(moves[:1]), 0, 0, 0, 0, False)
    return replace(found, nodes=limit.spent - before, leaves=leaves)
