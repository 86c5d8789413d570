"""Odds of battles fought to the end, in floating point: a table of mean results, and the probability of every final
result for chance nodes.

The exact odds, as fractions, are in games.risk.rules.battle.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from games.risk.rules.battle import MAX_ATTACK_DICE, MAX_DEFENCE_DICE, battle_without_dice, round_odds
from machine.compiled import compiled, floats

MAX_TABLE_UNITS = 80
"""The maximum number of attackers or defenders in `odds_table`. Larger battles are scaled down to it."""
_ROW_LENGTH = 3 * (MAX_TABLE_UNITS + 1)
"""The length of a row of `odds_table`, in floats. A row has the battles of a given number of attackers against any
number of defenders.
"""
SUFFICIENT_OFFSET = (MAX_TABLE_UNITS + 1) * _ROW_LENGTH
"""The index in `odds_table` of its last part: the number of attackers that suffices to win with
`SUFFICIENT_PROBABILITY`, for each number of defenders.
"""
SUFFICIENT_PROBABILITY = 0.9
"""The minimum winning probability for which a number of attackers is called sufficient."""


@cache
def odds_table(dice: bool) -> Any:
    """Return the table of battle results. For each number of attackers and of defenders it holds the probability of
    winning, the mean attackers left after a win, and the mean defenders left after a loss.

    From `SUFFICIENT_OFFSET` on it holds, for each number of defenders, the fewest attackers that win with at least
    `SUFFICIENT_PROBABILITY`, or `MAX_TABLE_UNITS` if that is fewer.
    """
    table = [0.0] * (SUFFICIENT_OFFSET + MAX_TABLE_UNITS + 1)
    for attackers in range(MAX_TABLE_UNITS + 1):
        for defenders in range(MAX_TABLE_UNITS + 1):
            at = attackers * _ROW_LENGTH + 3 * defenders
            table[at : at + 3] = (
                _odds_with_dice(table, attackers, defenders) if dice else _odds_without_dice(attackers, defenders)
            )
    for defenders in range(MAX_TABLE_UNITS + 1):
        wins = (
            units
            for units in range(MAX_TABLE_UNITS)
            if table[units * _ROW_LENGTH + 3 * defenders] >= SUFFICIENT_PROBABILITY
        )
        table[SUFFICIENT_OFFSET + defenders] = next(wins, MAX_TABLE_UNITS)
    return floats(table)


def _odds_with_dice(table: list[float], attackers: int, defenders: int) -> list[float]:
    """Return the entry of a battle in `odds_table`: winning probability, mean attackers left after a win, mean
    defenders left after a loss. It is computed from the entries of the battles to which one round of dice leads.
    """
    if not attackers or not defenders:
        return [float(attackers > 0), float(attackers), float(defenders)]
    won = left = held = 0.0
    for share, lost, killed in round_odds(min(attackers, MAX_ATTACK_DICE), min(defenders, MAX_DEFENCE_DICE)):
        chance = float(share)
        at = (attackers - lost) * _ROW_LENGTH + 3 * (defenders - killed)
        won += chance * table[at]
        left += chance * table[at] * table[at + 1]
        held += chance * (1.0 - table[at]) * table[at + 2]
    return [won, left / won, held / (1.0 - won) if won < 1.0 else 0.0]


def _odds_without_dice(attackers: int, defenders: int) -> list[float]:
    left, held = battle_without_dice(attackers, defenders) if attackers else (0, defenders)
    return [float(left > 0), float(left), float(held)]


@compiled
def look_up_odds(odds: Any, attackers: int, defenders: int) -> tuple[float, float, float]:
    """Return three numbers about a battle: the probability that the attacker wins, the mean number of attackers left
    after a win, and the mean number of defenders left after a loss.
    """
    most = max(attackers, defenders)
    if most <= MAX_TABLE_UNITS:
        at = attackers * _ROW_LENGTH + 3 * defenders
        return odds[at], odds[at + 1], odds[at + 2]
    at = max(1, attackers * MAX_TABLE_UNITS // most) * _ROW_LENGTH + 3 * max(1, defenders * MAX_TABLE_UNITS // most)
    return odds[at], odds[at + 1] * most / MAX_TABLE_UNITS, odds[at + 2] * most / MAX_TABLE_UNITS


@compiled
def find_sufficient(odds: Any, max_units: int, defenders: int) -> int:
    """Return the fewest attackers that win with probability `SUFFICIENT_PROBABILITY`. Return `max_units` if more would
    be needed, or if `defenders` exceeds the table.
    """
    if defenders > MAX_TABLE_UNITS:
        return max_units
    return min(max_units, int(odds[SUFFICIENT_OFFSET + defenders]))


def _round_probabilities(attacking: int, defending: int) -> tuple[float, float, float]:
    """Return the probabilities that the attacker loses, in a round, none, one of two, or all of the units at stake."""
    odds = {lost: float(chance) for chance, lost, _ in round_odds(attacking, defending)}
    return odds[0], odds[1] if min(attacking, defending) > 1 else 0.0, odds[min(attacking, defending)]


_ROUND_PROBABILITIES = tuple(
    chance
    for attacking in range(1, MAX_ATTACK_DICE + 1)
    for defending in range(1, MAX_DEFENCE_DICE + 1)
    for chance in _round_probabilities(attacking, defending)
)
"""The values of `_round_probabilities`, by number of attacking dice, then by number of defending dice."""


def floats_needed(units: int) -> int:
    """Return the maximum number of floats that `write_results` writes for a battle, with `units` units on the map."""
    return 4 * units + 3


@compiled
def write_probabilities(chances: Any, begin: int, attackers: int, defenders: int) -> None:
    """Write the probability of each result of a battle to `chances`, from `begin` on.

    The results are first that `attackers` down to 1 attackers survive, then that 1 up to `defenders` defenders survive.
    The 3 × (`defenders` + 1) floats after these probabilities are overwritten, as scratch space.
    """
    width = defenders + 1
    rows = begin + attackers + defenders
    for i in range(rows, rows + 3 * width):
        chances[i] = 0.0
    chances[rows + attackers % 3 * width + defenders] = 1.0
    for left in range(attackers, 0, -1):
        row = rows + left % 3 * width
        one_less, two_less = rows + (left - 1) % 3 * width, rows + (left + 1) % 3 * width
        for d in range(defenders, 0, -1):
            chance = chances[row + d]
            chances[row + d] = 0.0
            odds = 6 * min(left, 3) + 3 * min(d, 2) - 9
            if left > 1 and d > 1:
                chances[row + d - 2] += chance * _ROUND_PROBABILITIES[odds]
                chances[one_less + d - 1] += chance * _ROUND_PROBABILITIES[odds + 1]
                chances[two_less + d] += chance * _ROUND_PROBABILITIES[odds + 2]
            else:
                chances[row + d - 1] += chance * _ROUND_PROBABILITIES[odds]
                chances[one_less + d] += chance * _ROUND_PROBABILITIES[odds + 2]
        chances[begin + attackers - left] = chances[row]
        chances[row] = 0.0
    for d in range(1, width):
        chances[begin + attackers + d - 1] = chances[rows + d]


@compiled
def units_left(result: int, attackers: int) -> int:
    """Return the number of units that survive a battle: positive for attackers, negative for defenders. `result` is the
    index of the battle's result in the list that `write_probabilities` writes.
    """
    return attackers - result if result < attackers else attackers - result - 1


@compiled
def fight_without_dice(attackers: int, defenders: int) -> int:
    """Return the units left (see `units_left`) without dice: the larger army wins and keeps the difference."""
    return attackers - defenders if attackers > defenders else min(-1, attackers - defenders)


@compiled
def write_mean_results(chances: Any, begin: int, attackers: int, defenders: int) -> int:
    """Write a battle as two results, win and loss, the likelier first, each with the mean number of units left."""
    write_probabilities(chances, begin, attackers, defenders)
    won = lost = spared = held = 0.0
    for i in range(attackers):
        won += chances[begin + i]
        spared += chances[begin + i] * (attackers - i)
    for i in range(defenders):
        lost += chances[begin + attackers + i]
        held += chances[begin + attackers + i] * (i + 1)
    first = begin if won >= lost else begin + 1
    second = 2 * begin + 1 - first
    # With many hundreds against one, the other result is too rare for a float.
    chances[first], chances[first + 2] = won, int(spared / won + 0.5) if won > 0.0 else 1
    chances[second], chances[second + 2] = lost, -int(held / lost + 0.5) if lost > 0.0 else -1
    return 2


@compiled
def write_all_results(chances: Any, begin: int, attackers: int, defenders: int) -> int:
    """Write all results of a battle, the likeliest first, so that a pruning search cuts off sooner."""
    write_probabilities(chances, begin, attackers, defenders)
    count = attackers + defenders
    for i in range(count):
        chance = chances[begin + i]
        j = i
        while j > 0 and chances[begin + j - 1] < chance:
            chances[begin + j] = chances[begin + j - 1]
            chances[begin + count + j] = chances[begin + count + j - 1]
            j -= 1
        chances[begin + j], chances[begin + count + j] = chance, units_left(i, attackers)
    return count


NO_DICE_MODE, MEANS_MODE, DICE_MODE = range(3)
"""These are the battle modes. In NO_DICE_MODE a battle has one result, without chance; in MEANS_MODE two mean results;
in DICE_MODE all results of the dice.
"""


@compiled
def write_results(chances: Any, begin: int, attackers: int, defenders: int, battle_mode: int) -> int:
    """Write a battle's results to `chances` from `begin` on: first the probability of each, then the units that each
    leaves.

    Return the number of results.
    """
    if battle_mode == MEANS_MODE:
        return write_mean_results(chances, begin, attackers, defenders)
    if battle_mode == DICE_MODE:
        return write_all_results(chances, begin, attackers, defenders)
    chances[begin], chances[begin + 1] = 1.0, fight_without_dice(attackers, defenders)
    return 1
