"""The evaluation of nim: a guess from the number of heaps. The package `games.theory` has exact values."""

from __future__ import annotations

from typing import Any

from games.nim.rules import Nim, Position
from games.theory.evaluation import GUESSED_VALUE
from protocol.games.base import Game


def nim_parity(rules: Game[Any, Any], state: Position, seat: int) -> float:
    """Guess who wins, and return +½ or −½. The guess assumes that each heap which allows a move allows exactly one.

    The seat to move would then win if the number of such heaps is odd, in misère if it is even. The guess is right only
    at the very end; earlier it is no better than a coin toss. Beginners play by it.
    """
    assert isinstance(rules, Nim)
    least = rules.take[0] if rules.take else 1
    odd = sum(heap >= least for heap in state.heaps) % 2 == 1
    return GUESSED_VALUE if (odd != rules.misere) == (state.seat == seat) else -GUESSED_VALUE
