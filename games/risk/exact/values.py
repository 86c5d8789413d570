"""Value iteration for bounded Risk, until values stop changing (L. S. Shapley, Stochastic games, 1953)."""

from __future__ import annotations

import itertools
from typing import Any

from games.risk.exact.shape import Shape
from games.risk.rules.duel import DEFAULT_INVASION_TROOPS, REINFORCEMENT_TROOPS, WIN_PROBABILITY
from machine.compiled import compiled, entry, ints, zeros

TOLERANCE = 1e-10
"""Maximum change of a value in the last sweep of the iteration. In all tests, values are then right to 1e-9."""
_WIN_PROBABILITY = float(WIN_PROBABILITY)
"""The probability that an attack succeeds, as a float."""
_NO_MOVE_VALUE = 2.0
"""The number that stands for the opponent's value after the mover's best move of a kind, if the mover has no such move.
It is above any real value, so a move of another kind is better for the mover.
"""


def iterate_values(shape: Shape) -> tuple[Any, int]:
    """Return the value of every position (64-bit floats, by the position's index) and the number of sweeps."""
    count = len(shape.places)
    near: list[list[int]] = [[] for _ in range(count)]
    for a, b in shape.edges:
        near[a].append(b)
        near[b].append(a)
    first = ints(itertools.accumulate(map(len, near), initial=0))
    weights = ints((2 * shape.cap + 1) ** place for place in range(count))
    ends = ints(itertools.chain(*near))
    values, digits = zeros(shape.positions, float), zeros(count)
    sweeps, change = 0, 1.0
    while change > TOLERANCE:
        change = _sweep(values, shape.cap, weights, ends, first, digits)
        sweeps += 1
    return values, sweeps


# A position is a number whose digit k, in base 2 cap + 1, is territory k: 0 if free, 1 to cap for the mover's troops,
# cap plus troops for the opponent's. `other` is the same position with the sides exchanged, as the opponent sees it.


@entry
def _sweep(values: Any, cap: int, weights: Any, near: Any, first: Any, digits: Any) -> float:
    """Recompute the value of every position in place, and return the largest change. `digits` is scratch space that
    must be 0 and is 0 afterwards.
    """
    count = len(weights)
    worst = 0.0
    for position in range(len(values)):
        other = 0
        free = 0
        own = 0
        for k in range(count):
            digit = digits[k]
            if digit == 0:
                free += 1
            elif digit <= cap:
                own += 1
                other += (digit + cap) * weights[k]
            else:
                other += (digit - cap) * weights[k]
        if own == count:
            least = -1.0
        elif own + free == 0:
            least = 1.0
        elif free:
            least = _invade(values, other, cap, weights, digits)
        else:
            least = min(
                _reinforce(values, other, cap, weights, digits),
                _attack(values, other, cap, weights, digits, near, first),
            )
        worst = max(worst, abs(values[position] + least))
        values[position] = -least
        k = 0
        while k < count and digits[k] == 2 * cap:
            digits[k] = 0
            k += 1
        if k < count:
            digits[k] += 1
    return worst


@compiled
def _invade(values: Any, other: int, cap: int, weights: Any, digits: Any) -> float:
    """Return the opponent's value after the mover's best invasion."""
    least = _NO_MOVE_VALUE
    for k in range(len(weights)):
        if digits[k] == 0:
            least = min(least, values[other + (cap + DEFAULT_INVASION_TROOPS) * weights[k]])
    return least


@compiled
def _reinforce(values: Any, other: int, cap: int, weights: Any, digits: Any) -> float:
    """Return the opponent's value after the mover's best reinforcement."""
    least = _NO_MOVE_VALUE
    for k in range(len(weights)):
        if digits[k] < cap:
            least = min(least, values[other + min(REINFORCEMENT_TROOPS, cap - digits[k]) * weights[k]])
    return least


@compiled
def _attack(values: Any, other: int, cap: int, weights: Any, digits: Any, near: Any, first: Any) -> float:
    """Return the opponent's expected value after the mover's best attack."""
    least = _NO_MOVE_VALUE
    for source in range(len(weights)):
        strength = digits[source]
        if strength > cap:
            continue
        for edge in range(first[source], first[source + 1]):
            to = near[edge]
            defence = digits[to] - cap
            if 0 < defence <= strength:
                lost = defence if strength > defence else cap + strength
                taken = values[other + (cap + 1 - defence) * weights[to]]
                repelled = values[other - lost * weights[source]]
                least = min(least, _WIN_PROBABILITY * taken + (1 - _WIN_PROBABILITY) * repelled)
    return least
