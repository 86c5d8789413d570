"""The evaluation of nim: a guess from the number of heaps. The package `games.theory` has exact values."""

from __future__ import annotations

from typing import Any

from games.nim.rules import Nim, Position
from games.theory.evaluation import GUESSED_VALUE
from protocol.games.base import Game


def nim_parity(rules: Game[Any, Any], state: Position, seat: int) -> float:
    """Guess who wins by the number of heaps that allow a move, as beginners do. Return +½ if the guess is `seat`, else
    −½.

    The guess is that the seat to move wins if this number is odd, in misère if it is even. That is right if each of
    these heaps allows exactly one more move, as at the very end. Earlier, the guess is no better than a coin toss.
    """
    assert isinstance(rules, Nim)
    least = rules.take[0] if rules.take else 1
    odd = sum(heap >= least for heap in state.heaps) % 2 == 1
    return GUESSED_VALUE if (odd != rules.misere) == (state.seat == seat) else -GUESSED_VALUE
