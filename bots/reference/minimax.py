"""`minimax`: looks at everything a few plies ahead, and prunes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bots.client.bot import Turn
from bots.reference.search_bot import SearchingBot
from bots.search import Found, expectiminimax
from bots.search.iterative_deepening import DEEPEST
from bots.search.kernels import Kernel

USUAL_DEPTH = 3


class Minimax(SearchingBot):
    """Minimax to a fixed depth, expectation where there is chance.

    It comes to that depth ply by ply, so that where the clock does not allow it the answer of a lesser depth is there.
    """

    algorithm = "expectiminimax"

    def deepest(self, kernel: Kernel | None) -> int:
        usual = USUAL_DEPTH if kernel is None else kernel.usual_depth
        return self.depth or (DEEPEST if self.nodes else usual)

    def generic(self, turn: Turn) -> Callable[..., Found[Any]]:
        return expectiminimax
