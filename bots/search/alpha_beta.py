"""The pruning searches alpha-beta and Star1, and their transposition table, which stores values of positions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any, Generic, Literal, NamedTuple

from bots.evaluation.base import Evaluate, evaluate_as_draw
from bots.search.base import MAX_DEPTH, ChanceNotSupported, M, S, SearchLimit, SearchResult, SearchTree
from protocol.games.base import Game

INFINITY = float("inf")
"""A value that no position has. The window at the root reaches from minus this to this."""
Line = tuple[M, ...]
Bound = Literal["exact", "lower", "upper"]


class TableEntry(NamedTuple):
    """A stored value of a position, or a bound on it. The value of a win depends on the number of plies to it. In a
    game without chance, these plies are counted from the entry's position, not from the root.
    """

    value: float
    bound: Bound
    depth: int
    """Plies searched below the position."""
    complete: bool
    """True if every line searched reached the end of the game. The value is then right for greater depths too."""
    line: tuple[Any, ...]


class TranspositionTable(dict[Hashable, TableEntry]):
    """A transposition table: the stored value of each position, by the position's key. A full table is cleared."""

    def __init__(self, max_entries: int = 50_000) -> None:
        super().__init__()
        self._most = max_entries
        self.has_chance = False
        """True after a search of a game with chance. Keys then contain the ply: a value only holds at one ply."""

    def put(self, key: Hashable, entry: TableEntry) -> None:
        if len(self) >= self._most:
            self.clear()
        self[key] = entry


def alphabeta(
    rules: Game[S, M],
    root: S,
    *,
    depth: int = MAX_DEPTH,
    evaluate: Evaluate = evaluate_as_draw,
    limit: SearchLimit | None = None,
    table: TranspositionTable | None = None,
) -> SearchResult[M]:
    """Search by fail-soft alpha-beta: a value outside a node's window (the range that matters there) is a bound.

    Moves that caused most cutoffs elsewhere in the tree are tried first. With a `table`, a position that several lines
    reach is searched once. Raise `ChanceNotSupported` in a game with chance, and `LimitReached` if `limit` is spent.
    """
    return _AlphaBetaSearch(SearchTree(rules, root, evaluate=evaluate, limit=limit), table, chance=False).search(
        root, depth
    )


def star1(
    rules: Game[S, M],
    root: S,
    *,
    depth: int = MAX_DEPTH,
    evaluate: Evaluate = evaluate_as_draw,
    limit: SearchLimit | None = None,
    table: TranspositionTable | None = None,
) -> SearchResult[M]:
    """Search by Star1, alpha-beta that also prunes at chance nodes (Ballard 1983). Outcomes not yet searched are worth
    at most a win and at least a loss, so a chance node can be cut off early. Without chance, Star1 is alpha-beta.

    Raise `LimitReached` if `limit` is spent.
    """
    return _AlphaBetaSearch(SearchTree(rules, root, evaluate=evaluate, limit=limit), table, chance=True).search(
        root, depth
    )


class _AlphaBetaSearch(Generic[S, M]):
    """One search by alpha-beta or Star1: its tree, its table and its counts of cutoffs by move."""

    def __init__(self, tree: SearchTree[S, M], table: TranspositionTable | None, *, chance: bool) -> None:
        self._tree = tree
        self._rules = tree.rules
        self._outcomes = tree.outcomes
        self._table = table
        self._chance = chance
        self._cuts: dict[tuple[int, M], int] = {}
        if table is not None and table.has_chance:
            table.clear()

    def search(self, root: S, depth: int) -> SearchResult[M]:
        value, line = self._visit(root, depth, 0, -INFINITY, INFINITY)
        return self._tree.make_result(value, line, depth)

    def _visit(self, state: S, plies_left: int, ply: int, alpha: float, beta: float) -> tuple[float, Line[M]]:
        """Return MAX's value of a state, searched `plies_left` plies deep, and the principal variation.

        A value outside the window from `alpha` to `beta` is only a bound.
        """
        tree = self._tree
        tree.count_visit(ply)
        mover = self._rules.to_move(state)
        if mover is None:
            return tree.value_of_terminal(state, ply), ()
        if plies_left == 0:
            return tree.evaluate(state), ()
        known = self._table.get(self._key(state, ply)) if self._table is not None else None
        if known is not None and _is_usable(known, plies_left):
            value = known.value if self._has_ply_keys else _shift_win(known.value, -ply)
            if known.bound == "exact" or (value >= beta if known.bound == "lower" else value <= alpha):
                tree.estimates += not known.complete
                return value, known.line
        estimates = tree.estimates
        best, line = self._search_moves(state, mover, plies_left, ply, (alpha, beta), known.line[:1] if known else ())
        if self._table is not None:
            bound: Bound = "upper" if best <= alpha else "lower" if best >= beta else "exact"
            value = best if self._has_ply_keys else _shift_win(best, ply)
            self._table.put(
                self._key(state, ply), TableEntry(value, bound, plies_left, estimates == tree.estimates, line)
            )
        return best, line

    def _search_moves(
        self, state: S, mover: int, left: int, ply: int, window: tuple[float, float], first: Line[M]
    ) -> tuple[float, Line[M]]:
        """Return the value for MAX of the mover's best move, and the principal variation. Stop at the first cutoff."""
        alpha, beta = window
        sign = 1 if mover == self._tree.seat else -1
        best = -sign * INFINITY
        line: Line[M] = ()
        for move in self._order_moves(state, mover, first):
            value, rest = self._visit_outcomes(state, move, left - 1, ply + 1, alpha, beta)
            if sign * value > sign * best:
                best, line = value, (move, *rest)
            if sign > 0:
                alpha = max(alpha, best)
            else:
                beta = min(beta, best)
            if alpha >= beta:
                self._cuts[mover, move] = self._cuts.get((mover, move), 0) + min(left, 100) ** 2
                break
        return best, line

    def _order_moves(self, state: S, mover: int, first: Line[M]) -> list[M]:
        """Return the legal moves in the order to try: the table's, then those that caused most cutoffs so far."""
        cuts = self._cuts
        moves = sorted(self._rules.legal_moves(state), key=lambda move: -cuts.get((mover, move), 0))
        if first and first[0] in moves:
            moves.remove(first[0])
            moves.insert(0, first[0])
        return moves

    def _visit_outcomes(
        self, state: S, move: M, left: int, ply: int, alpha: float, beta: float
    ) -> tuple[float, Line[M]]:
        outcomes = self._outcomes(state, move)
        if len(outcomes) == 1:
            return self._visit(outcomes[0][1], left, ply, alpha, beta)
        if not self._chance:
            raise ChanceNotSupported(self._rules.name)
        if self._table is not None and not self._table.has_chance:
            self._table.has_chance = True
            self._table.clear()
        return self._mean_over_outcomes(outcomes, left, ply, alpha, beta), ()

    def _mean_over_outcomes(
        self, outcomes: Sequence[tuple[Fraction, S]], left: int, ply: int, alpha: float, beta: float
    ) -> float:
        """Return the mean value of a move's outcomes, or a bound once it must lie outside the window."""
        win = self._tree.win
        seen, unseen = 0.0, 1.0
        for probability, result in outcomes:
            chance = float(probability)
            unseen -= chance
            low = (alpha - seen - win * unseen) / chance
            high = (beta - seen + win * unseen) / chance
            value, _ = self._visit(result, left, ply, max(low, -win), min(high, win))
            seen += chance * value
            if value >= high:
                return seen - win * unseen
            if value <= low:
                return seen + win * unseen
        return seen

    @property
    def _has_ply_keys(self) -> bool:
        """True if the table's keys contain the ply: in a game with chance a value holds at one ply only."""
        return self._table is not None and self._table.has_chance

    def _key(self, state: S, ply: int) -> Hashable:
        key = self._rules.key(state)
        return (key, ply) if self._has_ply_keys else key


def _is_usable(entry: TableEntry, left: int) -> bool:
    """Return whether a stored entry is what a search of `left` plies would find."""
    return entry.depth == left or (entry.complete and entry.depth <= left)


def _shift_win(value: float, plies: int) -> float:
    """Return the value seen from `plies` plies deeper in the tree. A win or loss is that much nearer from there."""
    return value + plies if value >= 1 else value - plies if value <= -1 else value
