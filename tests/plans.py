"""Plans of tournaments made up for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.runs.contestants import Contestant
from arena.runs.plan import Plan
from protocol.games import load_game
from protocol.messages import Clock


def plan(bots: Sequence[str] = "abcd", game: str = "nim", **changes: Any) -> Plan:
    """A plan for bots of these names."""
    settings: dict[str, Any] = {
        "id": "t1",
        "seed": "7",
        "contestants": tuple(Contestant(name, ()) for name in bots),
        "rules": load_game(game),
        "format": "round-robin",
        "rounds": 2,
        "paired": False,
        "clock": Clock(bank_ms=1000, increment_ms=0),
    }
    return Plan(**{**settings, **changes})
