"""Position kinds, which are the categories by which the cost of moves is broken down, for each game by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

from protocol.games.base import Game

PositionClassifier = Callable[[Any], Mapping[str, str]]
"""The type of a function that classifies an unfinished state for the seat to move. It returns a kind for each category,
such as `{"phase": "attack"}`.
"""

_CLASSIFIER_BY_GAME = {
    "nim": "measuring.heap_position_kinds:classifier_of",
    "grundy": "measuring.heap_position_kinds:classifier_of",
    "kuhn": "measuring.hand_position_kinds:classifier_of",
    "leduc": "measuring.hand_position_kinds:classifier_of",
    "risk-duel": "measuring.risk.position_kinds:duel_classifier",
    "risk-campaign": "measuring.risk.position_kinds:campaign_classifier",
}
"""The function that makes the classifier of positions, by game: its module and its name."""


def classifier_of(game: Game[Any, Any]) -> PositionClassifier:
    """Return the function that classifies positions of a game; for a game without kinds it returns an empty mapping."""
    if game.name not in _CLASSIFIER_BY_GAME:
        return lambda state: {}
    kinds: PositionClassifier = resolve_name(_CLASSIFIER_BY_GAME[game.name])(game)
    return kinds
