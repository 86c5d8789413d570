"""Who wins, by AND/OR labelling, with the strategy that makes it so."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal

from bots.search.base import Limit, M, S, Tree
from protocol.games.base import Game

Label = Literal["won", "drawn", "lost"]
_SIGN: Mapping[Label, int] = {"won": 1, "drawn": 0, "lost": -1}
_LABEL: tuple[Label, ...] = ("drawn", "won", "lost")


@dataclass(frozen=True, slots=True)
class Status(Generic[M]):
    """What `status` found for the seat to move at the root, MAX."""

    label: Label
    strategy: Mapping[Hashable, M]
    """By the state's key, MAX's move wherever the opponent may lead: it reaches `label` against every reply."""
    nodes: int
    leaves: int

    @property
    def value(self) -> int:
        """1 won, 0 drawn, −1 lost."""
        return _SIGN[self.label]


def status(rules: Game[S, M], root: S, *, limit: Limit | None = None) -> Status[M]:
    """Label the root won, drawn or lost for MAX.

    A MAX node is won if a result is, a MIN node lost if a result is; no node is labelled twice, as a label does not
    depend on the way there. Raises `HasChance` in a game with chance, and `LimitReached` when `limit` is spent.
    """
    tree = Tree(rules, root, limit=limit)
    labels: dict[Hashable, tuple[int, M | None]] = {}

    def visit(state: S, ply: int) -> int:
        key = rules.key(state)
        if key in labels:
            return labels[key][0]
        tree.enter(ply)
        mover = rules.to_move(state)
        if mover is None:
            value = tree.final(state, ply)
            labels[key] = ((value > 0) - (value < 0), None)
            return labels[key][0]
        sign = 1 if mover == tree.seat else -1
        best, reply = -2, None
        for move in rules.legal_moves(state):
            label = sign * visit(tree.only(state, move), ply + 1)
            if label > best:
                best, reply = label, move
            if best == 1:
                break
        labels[key] = (sign * best, reply)
        return sign * best

    label = _LABEL[visit(root, 0)]
    return Status(label, _strategy(tree, root, labels), tree.nodes, tree.leaves)


def _strategy(tree: Tree[S, M], root: S, labels: Mapping[Hashable, tuple[int, M | None]]) -> dict[Hashable, M]:
    """MAX's moves where play can come when MAX makes them: against a lost root nothing is sure, so it is empty."""
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
            following = tree.only(state, move)
            if rules.key(following) not in seen:
                seen.add(rules.key(following))
                waiting.append(following)
    return chosen
