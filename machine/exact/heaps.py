"""Which theory a game of heaps has, its moves as they travel, and what they are worth: apart from the theory, which
nim's rules import.
"""

from __future__ import annotations

from typing import Any

from machine.exact.graders import Judge, Verdict
from protocol.games.base import NO_DICE, Game
from protocol.games.grundy import Grundy
from protocol.games.nim import Nim
from protocol.games.theory.heaps import SPLIT, HeapRule, nim_rule
from protocol.games.theory.impartial import Move, outcome


def theory_of(rules: Game[Any, Any]) -> tuple[HeapRule, bool]:
    """The rule for one heap of a nim or Grundy game, and whether it is misère."""
    return (nim_rule(rules.take), rules.misere) if isinstance(rules, Nim) else (SPLIT, False)


def as_sent(heaps: tuple[int, ...], move: Move) -> dict[str, int]:
    """A move of theory on the first heap of its size, as it travels."""
    heap = heaps.index(move.heap)
    if len(move.parts) == 1:
        return {"heap": heap, "take": move.heap - move.parts[0]}
    return {"heap": heap, "split": move.parts[0]}


def judge_of(game: Nim | Grundy) -> Judge:
    """Who grades moves by who wins after them."""
    rule, misere = theory_of(game)

    def worth(state: Any, move: Any) -> float:
        after, _ = game.apply(state, move, NO_DICE)
        return 1.0 if outcome(after.heaps, rule, misere=misere) == "P" else -1.0

    def judge(state: Any, move: Any) -> Verdict:
        value = worth(state, move)
        if value < 0 and outcome(state.heaps, rule, misere=misere) == "N":
            return Verdict(value, next(best for best in game.legal_moves(state) if worth(state, best) > 0), 1.0)
        return Verdict(value, move, value)

    return judge
