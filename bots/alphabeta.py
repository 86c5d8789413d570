"""`alphabeta`: as deep as the clock allows, and nothing that cannot matter."""

from __future__ import annotations

from typing import Any

from bots.bot import Turn
from bots.search import Evaluate, Found, Limit, Table, deepen, star1
from bots.thought import SearchingBot


class AlphaBeta(SearchingBot):
    """Alpha-beta with a transposition table, one ply deeper each time; Star1 bounds where there is chance."""

    algorithm = "alphabeta"

    def search(self, turn: Turn, limit: Limit, evaluate: Evaluate) -> Found[Any]:
        table = turn.memory.setdefault("table", Table())
        return deepen(
            turn.rules,
            turn.position,
            star1,
            limit=limit,
            deepest=self.deepest(turn.rules.name),
            evaluate=evaluate,
            table=table,
        )
