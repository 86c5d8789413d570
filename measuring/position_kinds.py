"""Which kind of position a move was made in: what its cost is told apart by. Found by the game's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

from protocol.games.base import Game

Kinds = Callable[[Any], Mapping[str, str]]
"""The kinds of an unfinished state for the seat to move, each under what it is told apart by: `{"phase": "attack"}`."""

_WHERE = {
    "nim": "measuring.heap_position_kinds:kinds_of",
    "grundy": "measuring.heap_position_kinds:kinds_of",
    "kuhn": "measuring.hand_position_kinds:kinds_of",
    "leduc": "measuring.hand_position_kinds:kinds_of",
    "risk-duel": "measuring.risk.position_kinds:of_duel",
    "risk-campaign": "measuring.risk.position_kinds:of_campaign",
}


def kinds_of(game: Game[Any, Any]) -> Kinds:
    """Who tells the kinds of a game's positions; of a game without, there are none."""
    if game.name not in _WHERE:
        return lambda state: {}
    kinds: Kinds = resolve_name(_WHERE[game.name])(game)
    return kinds
