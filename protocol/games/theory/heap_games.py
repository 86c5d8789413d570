"""Which theory a game of heaps has. Apart from the theory itself, which the rules of nim import."""

from __future__ import annotations

from typing import Any

from protocol.games.base import Game
from protocol.games.nim import Nim
from protocol.games.theory.heaps import SPLIT, Heap, taking


def theory_of(rules: Game[Any, Any]) -> tuple[Heap, bool]:
    """The rule for one heap of a nim or Grundy game, and whether it is misère."""
    return (taking(rules.take), rules.misere) if isinstance(rules, Nim) else (SPLIT, False)
