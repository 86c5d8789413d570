"""OpenSpiel's probabilities, which are floats, as whole weights for the committed dice."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import lcm

from protocol.dice import Dice

MAX_WEIGHT_SUM = 65536
"""Maximum of the sum of the weights of a chance event: the dice draw a number below it."""
MAX_DENOMINATOR = 100_000
"""The largest denominator of a fraction that a float is taken for."""


@lru_cache(1024)
def weights_of(probabilities: tuple[float, ...]) -> tuple[int, ...]:
    """Return whole weights in the proportions of some probabilities that sum to 1. Probabilities without a common
    denominator up to `MAX_WEIGHT_SUM` are rounded to multiples of 1 / `MAX_WEIGHT_SUM`, and none of them to 0.
    """
    fractions = [Fraction(probability).limit_denominator(MAX_DENOMINATOR) for probability in probabilities]
    denominator = lcm(*(fraction.denominator for fraction in fractions))
    if denominator <= MAX_WEIGHT_SUM and sum(fractions) == 1:
        return tuple(int(fraction * denominator) for fraction in fractions)
    weights = [max(1, int(probability * MAX_WEIGHT_SUM)) for probability in probabilities]
    weights[weights.index(max(weights))] += MAX_WEIGHT_SUM - sum(weights)
    return tuple(weights)


def draw(dice: Dice, weights: Sequence[int]) -> int:
    """Return the number of the outcome that the dice draw among outcomes with these weights."""
    sums = list(accumulate(weights))
    drawn = dice.choice("chance", sums[-1])
    return next(number for number, summed in enumerate(sums) if drawn < summed)
