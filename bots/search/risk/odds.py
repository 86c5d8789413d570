"""How battles to the end come out, as a table for kernels: the chance to win and what is left on average.

The exact odds, as fractions, are in protocol.games.risk.battle.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from machine.compiled import compiled, floats
from protocol.games.risk.battle import ATTACKING, DEFENDING, battle_without_dice, round_odds

EDGE = 80
"""The most units of either side in the table; beyond, both are scaled down to it."""
_ROW = 3 * (EDGE + 1)
NEED = (EDGE + 1) * _ROW
"""Behind the table: by defenders, how many attackers are `enough`."""
ENOUGH = 0.9
"""The chance to win with enough."""


@cache
def odds_table(dice: bool) -> Any:
    """By attackers and defenders the chance to win, the attackers left on average if won, the defenders if lost; from
    `NEED` on the fewest attackers that win with the chance `ENOUGH`, at most `EDGE`.
    """
    table = [0.0] * (NEED + EDGE + 1)
    for attackers in range(EDGE + 1):
        for defenders in range(EDGE + 1):
            at = attackers * _ROW + 3 * defenders
            table[at : at + 3] = _with_dice(table, attackers, defenders) if dice else _without(attackers, defenders)
    for defenders in range(EDGE + 1):
        wins = (units for units in range(EDGE) if table[units * _ROW + 3 * defenders] >= ENOUGH)
        table[NEED + defenders] = next(wins, EDGE)
    return floats(table)


def _with_dice(table: list[float], attackers: int, defenders: int) -> list[float]:
    """From what a round leaves."""
    if not attackers or not defenders:
        return [float(attackers > 0), float(attackers), float(defenders)]
    won = left = held = 0.0
    for share, lost, killed in round_odds(min(attackers, ATTACKING), min(defenders, DEFENDING)):
        chance = float(share)
        at = (attackers - lost) * _ROW + 3 * (defenders - killed)
        won += chance * table[at]
        left += chance * table[at] * table[at + 1]
        held += chance * (1.0 - table[at]) * table[at + 2]
    return [won, left / won, held / (1.0 - won) if won < 1.0 else 0.0]


def _without(attackers: int, defenders: int) -> list[float]:
    left, held = battle_without_dice(attackers, defenders) if attackers else (0, defenders)
    return [float(left > 0), float(left), float(held)]


@compiled
def odds_of(odds: Any, attackers: int, defenders: int) -> tuple[float, float, float]:
    """The chance to win, the attackers left on average if won, the defenders left if lost."""
    most = max(attackers, defenders)
    if most <= EDGE:
        at = attackers * _ROW + 3 * defenders
        return odds[at], odds[at + 1], odds[at + 2]
    at = max(1, attackers * EDGE // most) * _ROW + 3 * max(1, defenders * EDGE // most)
    return odds[at], odds[at + 1] * most / EDGE, odds[at + 2] * most / EDGE


@compiled
def enough(odds: Any, most: int, defenders: int) -> int:
    """The fewest of `most` units that win with the chance `ENOUGH`; all, or `EDGE` if that is less, where none in the
    table do.
    """
    if defenders > EDGE:
        return most
    return min(most, int(odds[NEED + defenders]))
