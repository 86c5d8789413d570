"""A confidence sequence: an interval for the mean of scores that stays valid whenever you stop.

A gambler bets on the scores against a claimed mean. If the claim is true, the gambler cannot expect to win: the chance
that the capital ever grows to twenty times the start is at most one in twenty (Ville's inequality). The interval holds
all means against which the capital has not grown twentyfold. The capital is split over bets of many sizes, on scores
above and below the mean. Source: I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by betting
(2023).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

_BET_SIZES = 9
"""Number of sizes of bets. Each size is half of the previous size."""
_MAX_BET_FRACTION = 0.999
"""The fraction of its own capital that the largest bet can lose at worst."""
BET_FRACTIONS = tuple(way * _MAX_BET_FRACTION / 2**size for size in range(_BET_SIZES) for way in (1, -1))
"""The bets, each as the fraction of its own capital that it can lose at worst. The sign gives the direction: a positive
bet is on scores above the mean, a negative bet is on scores below it.
"""
CAPITAL_SHARES = tuple(0.25 if size == 0 else 0.25 / (_BET_SIZES - 1) for size in range(_BET_SIZES) for _ in range(2))
"""The share of the capital behind each bet. The two largest bets share half: they suit scores with little spread."""
_END_TOLERANCE = 1e-5
"""Maximum error of each end of a confidence interval."""


class Interval(Struct, frozen=True):
    """A confidence interval of a mean: its lower and its upper end."""

    low: float
    high: float


def confidence_sequence(scores: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the confidence interval for the mean after these scores; without scores it is 0 to 1.

    The true mean, from 0 to 1, never leaves the interval with probability `confidence`, however often you look and
    whenever you stop. This requires that scores lie within 0 to 1, and that each score has the same mean, given all
    scores before it. Adjusted scores may lie outside 0 to 1: then the lowest and highest scores so far are the bounds.
    """
    counts = Counter(scores)
    low, high = min(0.0, 0.0, *counts), max(1.0, 1.0, *counts)
    limit = -math.log(1 - confidence)

    def within(mean: float) -> bool:
        gained = [
            sum(times * math.log(1 + bet * (score - mean)) for score, times in counts.items())
            for bet in bets(mean, low, high)
        ]
        return log_capital(gained) < limit

    middle = sum(scores) / len(scores) if scores else 0.5
    ends = (_find_end(within, middle, outside) for outside in (low, high))
    return Interval(*(min(1.0, max(0.0, end)) for end in ends))


def _find_end(is_inside: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return the end of an interval by bisection, between a point `inside` the interval and a point `outside`."""
    while abs(outside - inside) > _END_TOLERANCE:
        middle = (inside + outside) / 2
        if is_inside(middle):
            inside = middle
        else:
            outside = middle
    return outside


def bets(mean: float, low: float, high: float) -> list[float]:
    """Return the sizes of the bets against the claim that scores between `low` and `high` have the mean `mean`. Each
    score x multiplies the capital of a bet by 1 + size * (x - mean).

    numba can compile this function and `log_capital` unchanged.
    """
    return [part / (mean - low) if part > 0 else part / (high - mean) for part in BET_FRACTIONS]


def log_capital(log_growths: Sequence[float]) -> float:
    """Return the logarithm of the total capital of all bets. `log_growths` has the logarithm of each bet's growth."""
    most = max(log_growths)
    total = 0.0
    for at, part in enumerate(CAPITAL_SHARES):
        total += part * math.exp(log_growths[at] - most)
    return most + math.log(total)
