"""Position kinds of nim and Grundy's game: won or lost in theory, number of heaps and size of the largest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from machine.exact.heaps import theory_of
from protocol.games.base import Game
from protocol.games.theory.impartial import outcome

FEW, MANY = 2, 5


def kinds_of(game: Game[Any, Any]) -> Any:
    """Return a function that classifies the states of a heap game."""
    rule, misere = theory_of(game)

    def kinds(state: Any) -> Mapping[str, str]:
        won = outcome(state.heaps, rule, misere=misere) == "N"
        count = sum(heap > 0 for heap in state.heaps)
        heaps = f"1 to {FEW}" if count <= FEW else f"{FEW + 1} to {MANY - 1}" if count < MANY else f"{MANY} and more"
        largest = max(state.heaps)
        size = "up to 3" if largest <= 3 else "4 to 15" if largest < 16 else "16 and more"
        return {"theory": "won" if won else "lost", "heaps": heaps, "largest heap": size}

    return kinds
