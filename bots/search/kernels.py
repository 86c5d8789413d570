"""Games that have a search of their own, on flat arrays and compiled where numba is installed: where to find it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from bots.search.base import Found, Limit
from protocol.compiled import FAST
from protocol.games.base import Game

Algorithm = Literal["expectiminimax", "alphabeta"]
EQUAL = (1.0, 1.0, 1.0, 1.0)

_WHERE = {
    "risk-duel": "bots.search.risk.duel:DuelSearch",
    "risk-campaign": "bots.search.risk.campaign:CampaignSearch",
}


class Kernel(Protocol):
    """The search of one game under one config."""

    def __init__(self, rules: Any) -> None: ...

    def search(
        self,
        position: Any,
        *,
        depth: int,
        algorithm: Algorithm,
        evaluation: str = "features",
        weights: Sequence[float] = EQUAL,
        limit: Limit,
        **options: Any,
    ) -> Found[Any]:
        """The best move, one ply deeper each time up to `depth`, within `limit`; a legal one whatever happens.

        `options` are the kernel's own.
        """

    def perft(self, position: Any, depth: int) -> int:
        """The number of paths of exactly `depth` plies, every result of chance on its own."""

    def warm_up(self) -> None:
        """Compile, or load from disk, all that a match needs."""


def kernel_for(rules: Game[Any, Any]) -> Kernel | None:
    """The compiled search of this game, if it has one."""
    where = _WHERE.get(rules.name)
    if where is None:
        return None
    module, _, attribute = where.partition(":")
    found: type[Kernel] = getattr(importlib.import_module(module), attribute)
    return found(rules)


def warm_up(rules: Game[Any, Any] | None) -> None:
    """Compile or load the search of this game, if it has one; without numba there is nothing to compile."""
    if FAST and rules is not None and (kernel := kernel_for(rules)) is not None:
        kernel.warm_up()
