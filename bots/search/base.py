"""The common parts of all searches: the game from MAX's side, node counts, limits, results, iterative deepening."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Generic, TypeVar

from bots.evaluation import scale_of
from bots.evaluation.base import Evaluate, evaluate_as_draw
from protocol.errors import Fault
from protocol.games import game_class, game_names
from protocol.games.base import Game
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE

S = TypeVar("S")
M = TypeVar("M", bound=Hashable)

MAX_DEPTH = 1_000_000
"""The default search depth, which no game reaches: a search goes to the end of the game."""
DEFAULT_MAX_DEPTH = 200
"""Default depth limit of iterative deepening."""


def is_searchable(name: str) -> bool:
    """Return whether a game has perfect information, and seats move one at a time."""
    rules = game_class(name)
    return not (rules.hidden or issubclass(rules, SimultaneousGame))


def searchable_games() -> tuple[str, ...]:
    """Return the names of the games for which `is_searchable` is true."""
    return tuple(filter(is_searchable, game_names()))


def win_value(rules: Game[Any, Any]) -> float:
    """Return the value of a win at a search's root. It exceeds the number of plies of the longest match."""
    return scale_of(rules.name).win


def evaluation_scale(rules: Game[Any, Any]) -> float:
    """Return the factor from an evaluation to a search's value: the value of a position that is evaluated as 1."""
    return scale_of(rules.name).evaluation_factor


def has_deals(rules: Game[Any, Any]) -> bool:
    """Return whether the game may have deals after the start, as positions in which `CHANCE` is to move."""
    game = type(rules)
    return game.apply_chance is not Game.apply_chance or game.chance_outcomes is not Game.chance_outcomes


def list_outcomes(rules: Game[S, M], state: S, move: M) -> Sequence[tuple[Fraction, S]]:
    """Return every possible state after a legal move and all deals that follow it, with its exact probability.

    In each of these states a seat is to move, or the game is over.
    """
    outcomes = rules.outcomes(state, move)
    if not has_deals(rules):
        return outcomes
    return [dealt for chance, after in outcomes for dealt in _resolve_deals(rules, chance, after)]


def _resolve_deals(rules: Game[S, Any], probability: Fraction, state: S) -> Iterator[tuple[Fraction, S]]:
    if rules.to_move(state) != CHANCE:
        yield probability, state
        return
    for chance, after in rules.chance_outcomes(state):
        yield from _resolve_deals(rules, probability * chance, after)


class DealDue(Fault):
    """A search was asked to start from a position in which a deal comes before the next move."""

    def __init__(self, game: str) -> None:
        super().__init__(
            f"{game}: a deal comes before the next move: search from a position in which a seat is to move"
        )


class ChanceNotSupported(Fault):
    """A search for games without chance was given a game with chance."""

    def __init__(self, game: str) -> None:
        super().__init__(f"{game} has chance: search it with expectiminimax or star1")


class LimitReached(Exception):
    """A search used up the time or the nodes of its `SearchLimit`."""


class SearchLimit:
    """The nodes and the time that a search may use. Several searches may share one limit."""

    def __init__(
        self,
        *,
        nodes: int | None = None,
        deadline: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.nodes_left = nodes
        """Nodes that may still be visited; None: no limit."""
        self.deadline = deadline
        """The time on `clock` at which the search stops; None: no deadline."""
        self._clock = clock
        self.nodes_spent = 0
        """Nodes visited so far."""

    def count_node(self) -> None:
        """Count one node. Raise `LimitReached` if none was left or the deadline, checked every 32 nodes, has passed."""
        self.nodes_spent += 1
        if self.nodes_left is not None:
            self.nodes_left -= 1
            if self.nodes_left < 0:
                raise LimitReached
        if self.deadline is not None and not self.nodes_spent & 31 and self._clock() >= self.deadline:
            raise LimitReached

    def count_simulation(self) -> None:
        """Count a simulation as one node, like `count_node`, but always check the deadline."""
        self.count_node()
        if self.deadline is not None and self._clock() >= self.deadline:
            raise LimitReached

    def count_nodes(self, nodes: int) -> None:
        """Count nodes that a kernel visited."""
        self.nodes_spent += nodes
        if self.nodes_left is not None:
            self.nodes_left -= nodes


@dataclass(frozen=True, slots=True)
class SearchResult(Generic[M]):
    """The result of a search."""

    value: float
    """Value for the seat to move: 0 for a draw, `win_value` − n for a win in n plies, n − `win_value` for a loss in n
    plies, else an evaluation."""
    move: M | None
    """The best move; None only if the game is over."""
    line: tuple[M, ...]
    """The principal variation, up to and including its first move with several outcomes."""
    nodes: int
    """Positions visited, including the root."""
    leaves: int
    """The number of visited positions that were terminal or at the horizon."""
    max_ply: int
    """Plies from the root to the deepest visited position."""
    depth: int
    """The depth requested; with iterative deepening, the last depth completed."""
    complete: bool
    """True if the whole game was searched, so that the value does not depend on evaluations."""


class SearchTree(Generic[S, M]):
    """A game as MAX sees it, with counts of visited states. MAX is the seat to move at the root, others are MIN.

    The constructor raises `DealDue` if a deal comes before the next move.
    """

    def __init__(
        self,
        rules: Game[S, M],
        root: S,
        *,
        evaluate: Evaluate = evaluate_as_draw,
        limit: SearchLimit | None = None,
    ) -> None:
        self.rules = rules
        self.win = win_value(rules)
        self.seat = rules.to_move(root)
        if self.seat == CHANCE:
            raise DealDue(rules.name)
        self.outcomes: Callable[[S, M], Sequence[tuple[Fraction, S]]] = (
            partial(list_outcomes, rules) if has_deals(rules) else rules.outcomes
        )
        """Lists the outcomes of a move. It is `list_outcomes`; in games without deals, it is the game's own `outcomes`,
        which gives the same results faster."""
        self._evaluate = evaluate
        self._opinion = evaluation_scale(rules)
        self._limit = limit
        self.nodes = self.leaves = self.estimates = self.deepest = 0

    def count_visit(self, ply: int) -> None:
        """Count a visited state, `ply` plies below the root. Raise `LimitReached` if the limit is spent."""
        self.nodes += 1
        if ply > self.deepest:
            self.deepest = ply
        if self._limit is not None:
            self._limit.count_node()

    def value_of_terminal(self, state: S, ply: int) -> float:
        """Return MAX's value of a finished game. A shared first place is a draw, any lower place a loss."""
        self.leaves += 1
        if self.seat is None:
            return 0.0
        ranks = self.rules.ranks(state)
        if ranks[self.seat] > 1:
            return ply - self.win
        return self.win - ply if ranks.count(1) == 1 else 0.0

    def evaluate(self, state: S) -> float:
        """Return MAX's value of an unfinished state at the search's greatest depth, by the evaluation of the state."""
        self.leaves += 1
        self.estimates += 1
        return self._opinion * self._evaluate(self.rules, state, self.seat or 0)

    def only_outcome(self, state: S, move: M) -> S:
        """Return the only outcome of a move. Raise `ChanceNotSupported` if it has several outcomes."""
        outcomes = self.outcomes(state, move)
        if len(outcomes) > 1:
            raise ChanceNotSupported(self.rules.name)
        return outcomes[0][1]

    def make_result(self, value: float, line: tuple[M, ...], depth: int) -> SearchResult[M]:
        """Return the result of a search: MAX's value, the principal variation, the depth, and this tree's counts."""
        return SearchResult(
            value=value,
            move=line[0] if line else None,
            line=line,
            nodes=self.nodes,
            leaves=self.leaves,
            max_ply=self.deepest,
            depth=depth,
            complete=self.estimates == 0,
        )


def deepen(
    rules: Game[S, M],
    root: S,
    search: Callable[..., SearchResult[M]],
    *,
    limit: SearchLimit,
    max_depth: int = DEFAULT_MAX_DEPTH,
    **options: Any,
) -> SearchResult[M]:
    """Search by iterative deepening: call `search` with `options` and depth 1, 2, 3, … up to `max_depth`.

    Deepening stops when `limit` is spent, when the whole game was searched, or when a win or loss is forced. The result
    is that of the last completed depth, but its `nodes` sums all depths and its `leaves` all completed depths. If no
    depth was completed, the move is the first legal one.
    """
    result: SearchResult[M] | None = None
    before, leaves = limit.nodes_spent, 0
    win = win_value(rules)
    for depth in range(1, max_depth + 1):
        try:
            result = search(rules, root, depth=depth, limit=limit, **options)
        except LimitReached:
            break
        leaves += result.leaves
        if result.complete or abs(result.value) == win - len(result.line):
            break
    if result is None:
        moves = rules.legal_moves(root)
        result = SearchResult(0.0, moves[0] if moves else None, tuple(moves[:1]), 0, 0, 0, 0, False)
    return replace(result, nodes=limit.nodes_spent - before, leaves=leaves)
