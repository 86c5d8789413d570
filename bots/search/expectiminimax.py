"""Searches without pruning: minimax, negamax and expectiminimax. Pruning searches are in alpha_beta.py."""

from __future__ import annotations

from bots.evaluation.base import Evaluate, evaluate_as_draw
from bots.search.base import MAX_DEPTH, ChanceNotSupported, M, S, SearchLimit, SearchResult, SearchTree
from machine.sums import sum_in_order
from protocol.games.base import Game


def minimax(
    rules: Game[S, M],
    root: S,
    *,
    depth: int = MAX_DEPTH,
    evaluate: Evaluate = evaluate_as_draw,
    limit: SearchLimit | None = None,
) -> SearchResult[M]:
    """Search by minimax: MAX takes the greatest value, MIN the least.

    Raise `ChanceNotSupported` in a game with chance, and `LimitReached` when `limit` is spent.
    """
    return _search(SearchTree(rules, root, evaluate=evaluate, limit=limit), root, depth, chance=False)


def negamax(
    rules: Game[S, M],
    root: S,
    *,
    depth: int = MAX_DEPTH,
    evaluate: Evaluate = evaluate_as_draw,
    limit: SearchLimit | None = None,
) -> SearchResult[M]:
    """Search by negamax, minimax with one rule for both sides: a state's value for MIN is minus its value for MAX.

    Raise `ChanceNotSupported` in a game with chance, and `LimitReached` when `limit` is spent.
    """
    tree = SearchTree(rules, root, evaluate=evaluate, limit=limit)

    def visit(state: S, ply: int, sign: int) -> tuple[float, tuple[M, ...]]:
        """Return a state's value and principal variation for MAX if `sign` is 1, for MIN if it is −1."""
        tree.count_visit(ply)
        mover = rules.to_move(state)
        if mover is None:
            return sign * tree.value_of_terminal(state, ply), ()
        if ply == depth:
            return sign * tree.evaluate(state), ()
        best = -tree.win
        line: tuple[M, ...] = ()
        for move in rules.legal_moves(state):
            following = tree.only_outcome(state, move)
            side = 1 if rules.to_move(following) == tree.seat else -1
            value, rest = visit(following, ply + 1, side)
            value *= sign * side
            if value > best:
                best, line = value, (move, *rest)
        return best, line

    return tree.make_result(*visit(root, 0, 1), depth)


def expectiminimax(
    rules: Game[S, M],
    root: S,
    *,
    depth: int = MAX_DEPTH,
    evaluate: Evaluate = evaluate_as_draw,
    limit: SearchLimit | None = None,
) -> SearchResult[M]:
    """Search by expectiminimax: a move's value is the mean value of its outcomes.

    Outcomes count as nodes, chance nodes do not. Raise `LimitReached` when `limit` is spent.
    """
    return _search(SearchTree(rules, root, evaluate=evaluate, limit=limit), root, depth, chance=True)


def _search(tree: SearchTree[S, M], root: S, depth: int, *, chance: bool) -> SearchResult[M]:
    rules, list_outcomes = tree.rules, tree.outcomes

    def visit(state: S, ply: int) -> tuple[float, tuple[M, ...]]:
        tree.count_visit(ply)
        mover = rules.to_move(state)
        if mover is None:
            return tree.value_of_terminal(state, ply), ()
        if ply == depth:
            return tree.evaluate(state), ()
        best = -tree.win if mover == tree.seat else tree.win
        line: tuple[M, ...] = ()
        for move in rules.legal_moves(state):
            outcomes = list_outcomes(state, move)
            rest: tuple[M, ...] = ()
            if len(outcomes) == 1:
                value, rest = visit(outcomes[0][1], ply + 1)
            elif chance:
                value = sum_in_order(float(share) * visit(result, ply + 1)[0] for share, result in outcomes)
            else:
                raise ChanceNotSupported(rules.name)
            if value > best if mover == tree.seat else value < best:
                best, line = value, (move, *rest)
        return best, line

    return tree.make_result(*visit(root, 0), depth)
