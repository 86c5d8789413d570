"""Position kinds of both Risk games. They break down by category how much a bot loses through moves that are not the
best. The categories are the phase, whether the seat to move is ahead, and whether it is early or late in the match.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from games.risk.rules.campaign import Campaign
from games.risk.rules.duel import NO_OWNER, Duel
from measuring.position_kinds import PositionClassifier

CLEAR_LEAD_FACTOR = 1.2
"""Ratio of the troops of two seats above which one is ahead of the other."""
LAST_EARLY_ROUND, LAST_MIDDLE_ROUND = 3, 10
"""`LAST_EARLY_ROUND` is the last round of the early part of a campaign, `LAST_MIDDLE_ROUND` of the middle part."""


def duel_classifier(game: Duel) -> PositionClassifier:
    """Return a function that returns the categories of a position of bounded Risk, such as `phase` with "fighting"."""

    def kinds(state: Any) -> Mapping[str, str]:
        phase = "taking territories" if NO_OWNER in state.owner else "fighting"
        third = 3 * state.at // max(1, game.max_plies)
        return {"phase": phase, "standing": _standing(state, 2), "time": ("early", "middle", "late")[min(third, 2)]}

    return kinds


def campaign_classifier(game: Campaign) -> PositionClassifier:
    """Return a function that returns the categories of a position of a campaign, such as `phase` with "attack"."""

    def kinds(state: Any) -> Mapping[str, str]:
        time = "early" if state.round <= LAST_EARLY_ROUND else "middle" if state.round <= LAST_MIDDLE_ROUND else "late"
        return {"phase": state.phase, "standing": _standing(state, game.seats), "time": time}

    return kinds


def _standing(state: Any, seats: int) -> str:
    """Return whether the seat to move is "ahead" of the strongest other seat in troops, "behind" it, or "even"."""
    troops = [0] * seats
    for held, count in zip(state.owner, state.troops, strict=True):
        if held != NO_OWNER:
            troops[held] += count
    own = troops[state.seat]
    other = max(count for seat, count in enumerate(troops) if seat != state.seat)
    return "ahead" if own > CLEAR_LEAD_FACTOR * other else "behind" if other > CLEAR_LEAD_FACTOR * own else "even"
