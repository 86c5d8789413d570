"""The evaluation of Grundy's game. It guesses from the number of heaps; games.theory has exact values."""

from __future__ import annotations

from typing import Any

from games.grundy.rules import Grundy, Heaps
from games.theory.evaluation import GUESSED_VALUE
from protocol.games.base import Game


def grundy_parity(rules: Game[Any, Any], state: Heaps, seat: int) -> float:
    """Return +½ or −½, as if every heap that allows a move allowed exactly one."""
    assert isinstance(rules, Grundy)
    odd = sum(heap > 2 for heap in state.heaps) % 2 == 1
    return GUESSED_VALUE if odd == (rules.to_move(state) == seat) else -GUESSED_VALUE
