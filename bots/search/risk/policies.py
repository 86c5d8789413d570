"""The ways to play a campaign that uct reckons with: its own, the raider's, and the rush of a first idea."""

from __future__ import annotations

from typing import Any

from bots.search.risk.field import DRAFTING, NOWHERE
from bots.search.risk.raiding import advise, raid
from bots.search.risk.rollout_attack import rush, rush_attack, rush_site
from machine.compiled import compiled, entry

RAID, RUSH, POLICIES = range(3)
"""The policies, and how many there are."""


@compiled
def play_turn(board: Any, field: Any, odds: Any, weights: Any, path: Any, policy: int) -> None:
    """Play the turn, or the rest of it, by a policy."""
    if policy == RUSH:
        rush(board, field)
    else:
        raid(board, field, odds, weights, path)


@entry
def foretell(board: Any, field: Any, odds: Any, weights: Any, path: Any, policy: int) -> tuple[int, int]:
    """What a policy does next: drafts to a cell (and NOWHERE), attacks from one to another, or ends (both NOWHERE)."""
    if policy == RUSH:
        return (rush_site(board, field), NOWHERE) if field[DRAFTING] else rush_attack(board, field)
    source, target, _ = advise(board, field, odds, weights, path)
    return source, target
