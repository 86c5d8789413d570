"""The rule of moves in one heap of Grundy's game, for the theory of heap games, `games.theory`."""

from __future__ import annotations

from games.grundy.rules import Grundy
from games.theory.heaps import GRUNDY_RULE, HeapRule


def heap_rule(grundy: Grundy) -> HeapRule:
    """Return the rule of moves in one heap."""
    return GRUNDY_RULE
