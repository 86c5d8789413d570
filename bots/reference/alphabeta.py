"""`alphabeta`: as deep as the clock allows, and nothing that cannot matter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bots.client.bot import Turn
from bots.reference.search_bot import SearchingBot
from bots.search import Found, TranspositionTable, star1


class AlphaBeta(SearchingBot):
    """Alpha-beta with a transposition table, one ply deeper each time; Star1 bounds where there is chance."""

    algorithm = "alphabeta"

    def generic(self, turn: Turn) -> Callable[..., Found[Any]]:
        return partial(star1, table=turn.memory.setdefault("table", TranspositionTable()))
