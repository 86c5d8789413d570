"""Kinds of positions for each game. A bot's losses by moves that were not the best are broken down by these kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from protocol.games import game_part
from protocol.games.base import Game

PositionClassifier = Callable[[Any], Mapping[str, str]]
"""The type of a function that classifies an unfinished state for the seat to move. It returns a kind for each category,
such as `{"phase": "attack"}`.
"""


def classifier_of(game: Game[Any, Any]) -> PositionClassifier:
    """Return the function that classifies positions of a game. It returns an empty mapping for a game without kinds."""
    make: Callable[[Game[Any, Any]], PositionClassifier] | None = game_part(game.name, "position_classifier")
    return (lambda state: {}) if make is None else make(game)
