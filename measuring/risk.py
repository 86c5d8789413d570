"""Four things worth having in any Risk, and the value that is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from machine.exact.duel import can_judge, load_or_solve
from measuring.value import Value, Worth, Worths
from protocol.games.base import Game
from protocol.games.risk.duel import FREE, Duel, Position

Names = Mapping[str, Any]


def measure(rules: Game[Any, Any], state: Any, seat: int) -> tuple[float, float, float, float]:
    """What the seat has: its share of the territories, its share of all troops, how strong its borders are, and how
    little of them is open. Each from 0 to 1; all 0 for a seat without a territory.
    """
    owner, troops = state.owner, state.troops
    own = [territory for territory, holder in enumerate(owner) if holder == seat]
    if not own:
        return 0.0, 0.0, 0.0, 0.0
    strength = openness = 0.0
    for territory in own:
        neighbours = rules.map.neighbours[territory]  # type: ignore[attr-defined]
        enemies = [other for other in neighbours if owner[other] not in (seat, FREE)]
        shares = [troops[territory] / (troops[territory] + troops[enemy]) for enemy in enemies]
        strength += sum(shares) / len(shares) if shares else 1.0
        openness += len(enemies) / len(neighbours)
    army = sum(troops[territory] for territory in own)
    return len(own) / len(owner), army / sum(troops), strength / len(own), 1 - openness / len(own)


def exact(game: Duel) -> Value:
    """By the table of exact play, which ignores the ply limit."""
    table = load_or_solve(game.map, game.max_troops)

    def worths(position: Position) -> Worths:
        mover = (1 + table.value(position)) / 2
        return (mover, 1 - mover) if position.seat == 0 else (1 - mover, mover)

    return Worth("exact", worths)


def features(game: Game[Any, Any]) -> Value:
    """By the mean of `measure`: half a point, and half of what a seat has above the average of all."""

    def worths(state: Any) -> Worths:
        have = [sum(measure(game, state, seat)) / 4 for seat in range(game.seats)]
        average = sum(have) / game.seats
        return tuple(0.5 + own - average for own in have)

    return Worth("features-1", worths)


def of_duel(game: Duel) -> tuple[str, ...]:
    """The names of the values of this duel, the best first."""
    return ("exact", "features-1") if can_judge(game) else ("features-1",)


def of_campaign(game: Any) -> tuple[str, ...]:
    """The names of the values of this campaign, the best first."""
    return ("features-1",) if game.battle == "dice" else ()
