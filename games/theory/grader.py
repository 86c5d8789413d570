"""Grading of moves in heap games by their theory. The games' rules do not import this module of the package."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any, Protocol, cast

from games.theory.heaps import HeapRule
from games.theory.impartial import HeapMove, outcome
from machine.exact.graders import Grader, MoveGrade
from protocol.games import game_spec
from protocol.games.base import NO_DICE, Game


class HeapGame(Protocol):
    """The attribute of the rules of a heap game that the theory of heap games uses."""

    @property
    def misere(self) -> bool:
        """True if the seat that cannot move wins."""


def theory_of(rules: Game[Any, Any]) -> tuple[HeapRule, bool]:
    """Return the rule of moves in one heap, which the function `heap_rule` in the module `theory` of the game's room
    returns, and whether the game is misère.
    """
    rule: HeapRule = resolve_name(f"{game_spec(rules.name).room}.theory:heap_rule")(rules)
    return rule, cast(HeapGame, rules).misere


def to_message_move(heaps: tuple[int, ...], move: HeapMove) -> dict[str, int]:
    """Convert a `HeapMove` to the format of messages. If several heaps have its size, it changes the first of them."""
    heap = heaps.index(move.heap)
    if len(move.parts) == 1:
        return {"heap": heap, "take": move.heap - move.parts[0]}
    return {"heap": heap, "split": move.parts[0]}


def grader_of(game: Game[Any, Any]) -> Grader:
    """Return a grader that values a move as 1 if its player then wins by perfect play, else as −1."""
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
