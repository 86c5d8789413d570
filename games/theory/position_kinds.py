"""Position kinds of nim and Grundy's game: the categories by which a report breaks down the losses that a bot had
because its moves were worse than the best. The categories are whether the position is won in theory, the number of
heaps, and the size of the largest heap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from games.theory.grader import theory_of
from games.theory.impartial import outcome
from protocol.games.base import Game

MAX_FEW_HEAPS, MIN_MANY_HEAPS = 2, 5
"""These divide positions into three kinds: those with at most `MAX_FEW_HEAPS` heaps, those with at least
`MIN_MANY_HEAPS`, and those between.
"""


def classifier_of(game: Game[Any, Any]) -> Any:
    """Return a function that returns the categories of a state of a heap game."""
    rule, misere = theory_of(game)

    def classify(state: Any) -> Mapping[str, str]:
        won = outcome(state.heaps, rule, misere=misere) == "N"
        count = sum(heap > 0 for heap in state.heaps)
        heaps = (
            f"1 to {MAX_FEW_HEAPS}"
            if count <= MAX_FEW_HEAPS
            else f"{MAX_FEW_HEAPS + 1} to {MIN_MANY_HEAPS - 1}"
            if count < MIN_MANY_HEAPS
            else f"{MIN_MANY_HEAPS} and more"
        )
        largest = max(state.heaps)
        size = "up to 3" if largest <= 3 else "4 to 15" if largest < 16 else "16 and more"
        return {"theory": "won" if won else "lost", "heaps": heaps, "largest heap": size}

    return classify
