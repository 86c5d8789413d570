"""AND/OR labelling: who wins a game without chance, and the strategy that achieves it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal

from bots.search.base import M, S, SearchLimit, SearchTree
from protocol.games.base import Game

Label = Literal["won", "drawn", "lost"]
_LABEL_VALUES: Mapping[Label, int] = {"won": 1, "drawn": 0, "lost": -1}
"""The value of each label for MAX, the seat to move at the root."""
_VALUE_LABELS: tuple[Label, ...] = ("drawn", "won", "lost")
"""The label of each value for MAX, with the value 0, 1 or −1 as index."""


@dataclass(frozen=True, slots=True)
class Labelling(Generic[M]):
    """The result of labelling: who wins from the root, as seen by MAX (the seat to move there), and MAX's strategy."""

    label: Label
    strategy: Mapping[Hashable, M]
    """MAX's move by state key, in every state that can arise when MAX plays these moves. They achieve `label` against
    any reply. Empty if the root is lost."""
    nodes: int
    leaves: int

    @property
    def value(self) -> int:
        """The value of the root for MAX: 1 if won, 0 if drawn, −1 if lost."""
        return _LABEL_VALUES[self.label]


def label_root(rules: Game[S, M], root: S, *, limit: SearchLimit | None = None) -> Labelling[M]:
    """Label the root won, drawn or lost for MAX.

    A MAX node is won if one of its moves wins; a MIN node is lost if one of its moves loses. Labels do not depend on
    the path, so each state is labelled once. Raise `ChanceNotSupported` in a game with chance, and `LimitReached` when
    `limit` is spent.
    """
    tree = SearchTree(rules, root, limit=limit)
    labels: dict[Hashable, tuple[int, M | None]] = {}

    def visit(state: S, ply: int) -> int:
        key = rules.key(state)
        if key in labels:
            return labels[key][0]
        tree.count_visit(ply)
        mover = rules.to_move(state)
        if mover is None:
            value = tree.value_of_terminal(state, ply)
            labels[key] = ((value > 0) - (value < 0), None)
            return labels[key][0]
        sign = 1 if mover == tree.seat else -1
        best, reply = -2, None
        for move in rules.legal_moves(state):
            label = sign * visit(tree.only_outcome(state, move), ply + 1)
            if label > best:
                best, reply = label, move
            if best == 1:
                break
        labels[key] = (sign * best, reply)
        return sign * best

    label = _VALUE_LABELS[visit(root, 0)]
    return Labelling(label, _find_strategy(tree, root, labels), tree.nodes, tree.leaves)


def _find_strategy(
    tree: SearchTree[S, M], root: S, labels: Mapping[Hashable, tuple[int, M | None]]
) -> dict[Hashable, M]:
    """Return MAX's moves, for `Labelling.strategy`. `labels` has, by state key, the value of the state's label for MAX
    and the move that achieves it.
    """
    rules = tree.rules
    chosen: dict[Hashable, M] = {}
    if labels[rules.key(root)][0] < 0:
        return chosen
    waiting, seen = [root], {rules.key(root)}
    while waiting:
        state = waiting.pop()
        key = rules.key(state)
        moves = rules.legal_moves(state)
        reply = labels[key][1]
        if rules.to_move(state) == tree.seat and reply is not None:
            chosen[key] = reply
            moves = (reply,)
        for move in moves:
            following = tree.only_outcome(state, move)
            if rules.key(following) not in seen:
                seen.add(rules.key(following))
                waiting.append(following)
    return chosen
