"""Which theory a game of heaps has, and its moves as they travel: apart from the theory, which nim's rules import."""

from __future__ import annotations

from typing import Any

from protocol.games.base import Game
from protocol.games.nim import Nim
from protocol.games.theory.heaps import SPLIT, Heap, taking
from protocol.games.theory.impartial import Move


def theory_of(rules: Game[Any, Any]) -> tuple[Heap, bool]:
    """The rule for one heap of a nim or Grundy game, and whether it is misère."""
    return (taking(rules.take), rules.misere) if isinstance(rules, Nim) else (SPLIT, False)


def as_sent(heaps: tuple[int, ...], move: Move) -> dict[str, int]:
    """A move of theory on the first heap of its size, as it travels."""
    heap = heaps.index(move.heap)
    if len(move.parts) == 1:
        return {"heap": heap, "take": move.heap - move.parts[0]}
    return {"heap": heap, "split": move.parts[0]}
