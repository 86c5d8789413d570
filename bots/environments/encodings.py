"""The registry: a game's name and where its encoding is."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from bots.environments.base import Encoding
from protocol.errors import UsageFault
from protocol.games.base import Game

_WHERE = {
    "nim": "bots.environments.heaps:NimEncoding",
    "grundy": "bots.environments.heaps:GrundyEncoding",
    "tictactoe": "bots.environments.tictactoe:GridEncoding",
    "risk-duel": "bots.environments.risk:DuelEncoding",
    "risk-campaign": "bots.environments.risk:CampaignEncoding",
}


def encoding_of(rules: Game[Any, Any]) -> Encoding[Any, Any]:
    """How a learner sees the game under its config. Raises `UsageFault` for a game that has no encoding."""
    if rules.name not in _WHERE:
        raise UsageFault(f"{rules.name} has no encoding: one of {', '.join(_WHERE)}")
    found: type[Encoding[Any, Any]] = resolve_name(_WHERE[rules.name])
    return found(rules)
