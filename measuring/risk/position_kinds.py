"""Position kinds of both Risk games: the phase, who is ahead, and how late it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from measuring.position_kinds import Kinds
from protocol.games.risk.campaign import Campaign
from protocol.games.risk.duel import FREE, Duel

CLEARLY = 1.2
"""A seat is ahead if it has more than this many times the troops of the strongest other seat, behind if the reverse."""
OPENING, MIDDLE = 3, 10
"""Last round of the early and of the middle part of a campaign."""


def of_duel(game: Duel) -> Kinds:
    """Return a function that classifies the positions of bounded Risk."""

    def kinds(state: Any) -> Mapping[str, str]:
        phase = "taking territories" if FREE in state.owner else "fighting"
        third = 3 * state.at // max(1, game.max_plies)
        return {"phase": phase, "standing": _standing(state, 2), "time": ("early", "middle", "late")[min(third, 2)]}

    return kinds


def of_campaign(game: Campaign) -> Kinds:
    """Return a function that classifies the positions of campaigns."""

    def kinds(state: Any) -> Mapping[str, str]:
        time = "early" if state.round <= OPENING else "middle" if state.round <= MIDDLE else "late"
        return {"phase": state.phase, "standing": _standing(state, game.seats), "time": time}

    return kinds


def _standing(state: Any, seats: int) -> str:
    """Return whether the seat to move is "ahead" of the strongest other seat in troops, "behind" it, or "even"."""
    troops = [0] * seats
    for held, count in zip(state.owner, state.troops, strict=True):
        if held != FREE:
            troops[held] += count
    own = troops[state.seat]
    other = max(count for seat, count in enumerate(troops) if seat != state.seat)
    return "ahead" if own > CLEARLY * other else "behind" if other > CLEARLY * own else "even"
