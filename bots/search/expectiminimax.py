"""Searches without pruning: minimax, negamax and expectiminimax. Those that prune are in alpha_beta.py."""

from __future__ import annotations

from bots.evaluation.base import Evaluate, no_opinion
from bots.search.base import ENDLESS, Found, HasChance, Limit, M, S, Tree
from protocol.games.base import Game


def minimax(
    rules: Game[S, M],
    root: S,
    *,
    depth: int = ENDLESS,
    evaluate: Evaluate = no_opinion,
    limit: Limit | None = None,
) -> Found[M]:
    """Search by minimax: MAX takes the greatest value, MIN the least.

    Raises `HasChance` in a game with chance, and `LimitReached` when `limit` is spent.
    """
    return _search(Tree(rules, root, evaluate=evaluate, limit=limit), root, depth, chance=False)


def negamax(
    rules: Game[S, M],
    root: S,
    *,
    depth: int = ENDLESS,
    evaluate: Evaluate = no_opinion,
    limit: Limit | None = None,
) -> Found[M]:
    """Search by negamax, minimax with one rule for both sides: a state's value for MIN is minus its value for MAX.

    Raises `HasChance` in a game with chance, and `LimitReached` when `limit` is spent.
    """
    tree = Tree(rules, root, evaluate=evaluate, limit=limit)

    def visit(state: S, ply: int, sign: int) -> tuple[float, tuple[M, ...]]:
        """Return the value for the side of `sign`: 1 for MAX, −1 for MIN."""
        tree.enter(ply)
        mover = rules.to_move(state)
        if mover is None:
            return sign * tree.final(state, ply), ()
        if ply == depth:
            return sign * tree.estimate(state), ()
        best = -tree.win
        line: tuple[M, ...] = ()
        for move in rules.legal_moves(state):
            following = tree.only(state, move)
            side = 1 if rules.to_move(following) == tree.seat else -1
            value, rest = visit(following, ply + 1, side)
            value *= sign * side
            if value > best:
                best, line = value, (move, *rest)
        return best, line

    return tree.found(*visit(root, 0, 1), depth)


def expectiminimax(
    rules: Game[S, M],
    root: S,
    *,
    depth: int = ENDLESS,
    evaluate: Evaluate = no_opinion,
    limit: Limit | None = None,
) -> Found[M]:
    """Search by expectiminimax: a move is worth the mean over its outcomes.

    Outcomes count as nodes, the chance node itself does not. Raises `LimitReached` when `limit` is spent.
    """
    return _search(Tree(rules, root, evaluate=evaluate, limit=limit), root, depth, chance=True)


def _search(tree: Tree[S, M], root: S, depth: int, *, chance: bool) -> Found[M]:
    rules = tree.rules

    def visit(state: S, ply: int) -> tuple[float, tuple[M, ...]]:
        tree.enter(ply)
        mover = rules.to_move(state)
        if mover is None:
            return tree.final(state, ply), ()
        if ply == depth:
            return tree.estimate(state), ()
        best = -tree.win if mover == tree.seat else tree.win
        line: tuple[M, ...] = ()
        for move in rules.legal_moves(state):
            outcomes = rules.outcomes(state, move)
            rest: tuple[M, ...] = ()
            if len(outcomes) == 1:
                value, rest = visit(outcomes[0][1], ply + 1)
            elif chance:
                value = sum(float(share) * visit(result, ply + 1)[0] for share, result in outcomes)
            else:
                raise HasChance(rules.name)
            if value > best if mover == tree.seat else value < best:
                best, line = value, (move, *rest)
        return best, line

    return tree.found(*visit(root, 0), depth)
