"""Who grades the moves of a game that is solved: what one was worth beside the best one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from machine.exact.heaps import theory_of
from protocol.errors import UsageFault
from protocol.games.base import NO_DICE, Game
from protocol.games.grundy import Grundy
from protocol.games.nim import Nim
from protocol.games.risk.duel import Duel
from protocol.games.theory.impartial import outcome


class Verdict(NamedTuple):
    """What the move played was worth to its seat, and a best move: expected results, win 1, draw 0, loss −1."""

    value: float
    best: Any
    best_value: float


Judge = Callable[[Any, Any], Verdict]
"""The verdict on a legal move in a state."""


def judge_of(game: Game[Any, Any]) -> Judge:
    """Who grades `game`. Raises `UsageFault` where nobody can."""
    if isinstance(game, Duel):
        return _judge_of_duel(game)
    if isinstance(game, (Nim, Grundy)):
        return _judge_of_heaps(game)
    raise UsageFault(f"{game.name} is not solved, so its moves have no grades: nim, grundy and risk-duel have")


def _judge_of_duel(game: Duel) -> Judge:
    from machine.exact.duel import EQUAL, load_or_solve  # numba comes with it

    table = load_or_solve(game.map, game.max_troops)

    def judge(state: Any, move: Any) -> Verdict:
        values = dict(table.move_values(state))
        best, value = max(values, key=values.__getitem__), values[move]
        return Verdict(value, move, value) if value > values[best] - EQUAL else Verdict(value, best, values[best])

    return judge


def _judge_of_heaps(game: Nim | Grundy) -> Judge:
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
