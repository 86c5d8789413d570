"""Grading of heap games by their theory. It is separate from `protocol.games.theory`, which the rules of nim import."""

from __future__ import annotations

from typing import Any

from machine.exact.graders import Grader, MoveGrade
from protocol.games.base import NO_DICE, Game
from protocol.games.grundy import Grundy
from protocol.games.nim import Nim
from protocol.games.theory.heaps import GRUNDY_RULE, HeapRule, nim_rule
from protocol.games.theory.impartial import HeapMove, outcome


def theory_of(rules: Game[Any, Any]) -> tuple[HeapRule, bool]:
    """Return the rule of moves in one heap, in nim or Grundy's game, and whether the game is misère."""
    return (nim_rule(rules.take), rules.misere) if isinstance(rules, Nim) else (GRUNDY_RULE, False)


def to_message_move(heaps: tuple[int, ...], move: HeapMove) -> dict[str, int]:
    """Convert a move of the theory to the format of messages. Of several heaps of its size, it takes the first."""
    heap = heaps.index(move.heap)
    if len(move.parts) == 1:
        return {"heap": heap, "take": move.heap - move.parts[0]}
    return {"heap": heap, "split": move.parts[0]}


def grader_of(game: Nim | Grundy) -> Grader:
    """Return a grader that values a move by who wins after it."""
    rule, misere = theory_of(game)

    def value_after(state: Any, move: Any) -> float:
        after, _ = game.apply(state, move, NO_DICE)
        return 1.0 if outcome(after.heaps, rule, misere=misere) == "P" else -1.0

    def grade(state: Any, move: Any) -> MoveGrade:
        value = value_after(state, move)
        if value < 0 and outcome(state.heaps, rule, misere=misere) == "N":
            return MoveGrade(value, next(best for best in game.legal_moves(state) if value_after(state, best) > 0), 1.0)
        return MoveGrade(value, move, value)

    return grade
