"""The evaluation of Grundy's game: a guess from the number of heaps. The package `games.theory` has exact values."""

from __future__ import annotations

from typing import Any

from games.grundy.rules import Grundy, Heaps
from games.theory.evaluation import GUESSED_VALUE
from protocol.games.base import Game


def grundy_parity(rules: Game[Any, Any], state: Heaps, seat: int) -> float:
    """Guess who wins, and return +½ or −½. The guess assumes that each heap which allows a move allows exactly one."""
    assert isinstance(rules, Grundy)
    odd = sum(heap > 2 for heap in state.heaps) % 2 == 1
    return GUESSED_VALUE if odd == (rules.to_move(state) == seat) else -GUESSED_VALUE
