"""`minimax`: looks at everything a few plies ahead, and prunes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from bots.bot import Bot, Choice, Turn
from bots.evaluation import check_name
from bots.search import deepen, expectiminimax
from bots.thought import DEPTH, EVAL, NODES, evaluation_for, purse, read_number

USUAL_DEPTH = 3


class Minimax(Bot):
    """Minimax to a fixed depth, expectation where there is chance.

    It comes to that depth ply by ply, so that where the clock does not allow it the answer of a lesser depth is there.
    """

    settings: ClassVar[Mapping[str, str]] = {"depth": DEPTH, "eval": EVAL, "nodes": NODES}

    def __init__(
        self,
        name: str,
        version: str = "",
        *,
        depth: int | str | None = None,
        eval: str | None = None,  # noqa: A002
        nodes: int | str | None = None,
    ) -> None:
        super().__init__(name, version)
        self._depth = read_number("minimax", "depth", depth, 64)
        self._nodes = read_number("minimax", "nodes", nodes, 10**9)
        self._evaluation = None if eval is None else check_name(eval)

    def choose(self, turn: Turn) -> Choice:
        found = deepen(
            turn.rules,
            turn.position,
            expectiminimax,
            limit=purse(turn, nodes=self._nodes, bounded=self._depth is not None),
            deepest=self._depth or (64 if self._nodes else USUAL_DEPTH),
            evaluate=evaluation_for(turn.rules.name, self._evaluation),
        )
        assert found.move is not None
        move = turn.rules.encode_move(found.move)
        return Choice(move, value=found.value, depth=found.depth, nodes=found.nodes)
