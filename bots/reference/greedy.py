"""`greedy`: the move after which the position looks best, without a look at the reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bots.client.bot import Bot, Choice, Turn
from bots.client.value_parsing import read_one
from bots.evaluation import NAMES
from bots.reference.search_bot import EVAL, evaluation_for, name_for, once_a_match
from bots.reference.time_management import purse
from bots.search.base import Tree
from bots.search.kernels import one_ply_for
from protocol.games import load
from protocol.games.base import Game
from protocol.messages import Start


class Greedy(Bot):
    """Takes the best expected evaluation after one move; equal ones are drawn by lot (in a campaign: the first)."""

    settings: ClassVar[Mapping[str, str]] = {"eval": EVAL}

    def __init__(self, name: str, version: str = "", *, eval: str | None = None) -> None:  # noqa: A002
        super().__init__(name, version)
        self._evaluation = None if eval is None else read_one("greedy", "eval", eval, NAMES)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None and (kernel := one_ply_for(game)) is not None:
            kernel.warm_up()

    def prepare(self, start: Start) -> None:
        self.warm_up(load(start.game, start.config))

    def choose(self, turn: Turn) -> Choice:
        rules = turn.rules
        kernel = once_a_match(turn, one_ply_for)
        if kernel is not None:
            limit = purse(turn, nodes=None, kernel=kernel)
            found = kernel.look_once(turn.position, evaluation=name_for(rules.name, self._evaluation), limit=limit)
            return Choice(rules.encode_move(found.move), value=found.value, depth=1, nodes=found.nodes)
        tree = Tree(rules, turn.position, evaluate=evaluation_for(rules.name, self._evaluation))
        best = -tree.win
        equals: list[Any] = []
        moves = rules.legal_moves(turn.position)
        for move in moves:
            results = rules.outcomes(turn.position, move)
            value = sum(float(chance) * worth(tree, result) for chance, result in results)
            if value > best:
                best, equals = value, []
            if value == best:
                equals.append(move)
        return Choice(rules.encode_move(turn.random.choice(equals)), value=best, depth=1, nodes=len(moves))


def worth(tree: Tree[Any, Any], state: Any) -> float:
    """What a state is worth to the seat to move at the root, however far from there."""
    return tree.final(state, 0) if tree.rules.to_move(state) is None else tree.estimate(state)
