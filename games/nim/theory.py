"""The rule of moves in one heap of nim, for the theory of heap games, `games.theory`."""

from __future__ import annotations

from games.nim.rules import Nim
from games.theory.heaps import HeapRule, nim_rule


def heap_rule(nim: Nim) -> HeapRule:
    """Return the rule of moves in one heap under a config."""
    return nim_rule(nim.take)
