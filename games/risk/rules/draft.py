"""The draft rule: it spreads reinforcements over the territories under most pressure. It follows the Risk agent tuned
by a genetic algorithm, arman-aminian/risk-game-ai-agent, and the report on that agent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def pressure_draft(
    neighbours: Sequence[Sequence[int]], owner: Sequence[int], troops: Sequence[int], seat: int, units: int
) -> tuple[tuple[int, int], ...]:
    """Return the seat's territories that get units, each with its number of units, in ascending order. The numbers sum
    to `units`.

    The pressure on a territory is the number of enemy troops next to it, divided by its own troops. The units are
    shared among the half of the territories under most pressure, in proportion to pressure. Shares are rounded and at
    least 1, while units last. Units left over go one each to these territories in turn. `seat` must own a territory,
    and `units` must be 1 or more.
    """
    pressure = territories_by_pressure(neighbours, owner, troops, seat)
    kept = list(pressure)[: (len(pressure) + 1) // 2]
    total = 0.0
    for at in kept:  # not sum(), which rounds differently, so that a compiled copy gives the same
        total += pressure[at]
    placed = dict.fromkeys(kept, 0)
    left = units
    for at in kept:
        share = pressure[at] / total if total else 1.0 / len(kept)
        placed[at] = min(left, max(1, math.floor(share * units + 0.5)))
        left -= placed[at]
    for turn in range(left):
        placed[kept[turn % len(kept)]] += 1
    return tuple(sorted((at, count) for at, count in placed.items() if count))


def territories_by_pressure(
    neighbours: Sequence[Sequence[int]], owner: Sequence[int], troops: Sequence[int], seat: int
) -> dict[int, float]:
    """Return the seat's territories with the pressure on each (see `pressure_draft`), highest first, then by index."""
    own = [at for at, held in enumerate(owner) if held == seat]
    pressure = {at: sum(troops[to] for to in neighbours[at] if owner[to] != seat) / troops[at] for at in own}
    return {at: pressure[at] for at in sorted(own, key=lambda at: (-pressure[at], at))}
