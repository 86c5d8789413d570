"""Iterative deepening: one ply deeper each time, until time or nodes run out; there is always a legal answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bots.search.base import Found, Limit, LimitReached, M, S, win_value
from protocol.games.base import Game

DEEPEST = 200


def deepen(
    rules: Game[S, M], root: S, search: Callable[..., Found[M]], *, limit: Limit, deepest: int = DEEPEST, **options: Any
) -> Found[M]:
    """`search` (any of this package that takes a depth) with `options` at depth 1, 2, 3… up to `deepest`.

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
