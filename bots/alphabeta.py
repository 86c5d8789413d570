"""`alphabeta`: as deep as the clock allows, and nothing that cannot matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from bots.bot import Bot, Choice, Turn
from bots.evaluation import check_name
from bots.search import Table, deepen, star1
from bots.search.deepening import DEEPEST
from bots.thought import DEPTH, EVAL, NODES, evaluation_for, purse, read_number


class AlphaBeta(Bot):
    """Alpha-beta with a transposition table, one ply deeper each time; Star1 bounds where there is chance."""

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
        self._depth = read_number("alphabeta", "depth", depth, 64)
        self._nodes = read_number("alphabeta", "nodes", nodes, 10**9)
        self._evaluation = None if eval is None else check_name(eval)

    def choose(self, turn: Turn) -> Choice:
        table = turn.memory.setdefault("table", Table())
        found = deepen(
            turn.rules,
            turn.position,
            star1,
            limit=purse(turn, nodes=self._nodes, bounded=self._depth is not None),
            deepest=self._depth or DEEPEST,
            evaluate=evaluation_for(turn.rules.name, self._evaluation),
            table=table,
        )
        assert found.move is not None
        move = turn.rules.encode_move(found.move)
        return Choice(move, value=found.value, depth=found.depth, nodes=found.nodes)
