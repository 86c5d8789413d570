"""A confidence sequence: an interval for the mean of scores that is valid whenever one stops. Pure.

Whoever bets on the scores against a mean that is the true one can't expect to win: that his stake ever grows to twenty
times what it was has a chance of one in twenty at most (Ville). So the interval is of the means that nobody has won so
much against, who divided his stake among bets of many sizes, up and down. Source: I. Waudby-Smith, A. Ramdas,
Estimating means of bounded random variables by betting (2023).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

_SIZES = 9
_BOLDEST = 0.999
FRACTIONS = tuple(way * _BOLDEST / 2**size for size in range(_SIZES) for way in (1, -1))
"""How much of a part of the stake is bet: on more than the mean, or below 0 on less. With 1 it could be lost."""
PARTS = tuple(0.25 if size == 0 else 0.25 / (_SIZES - 1) for size in range(_SIZES) for _ in range(2))
"""The parts of the stake: half for the boldest, as scores that hardly spread call for, the rest in equal parts."""
_CLOSE = 1e-5
"""To this the ends are found."""


class Interval(Struct, frozen=True):
    """Where a mean lies."""

    low: float
    high: float


def confidence_sequence(scores: Sequence[float], confidence: float = 0.95) -> Interval:
    """The interval after these scores; after none it is 0 to 1.

    With this confidence the true mean, itself 0 to 1, is never outside, however long one goes on and whenever one
    looks, if scores lie within 0 to 1 too and each has that mean, whatever came before. Adjusted scores may lie beyond:
    then it is taken that none lies farther out than those that came.
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
    ends = (_end(within, middle, outside) for outside in (low, high))
    return Interval(*(min(1.0, max(0.0, end)) for end in ends))


def _end(within: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where an interval ends that holds `inside`, on the way to where it does not go on."""
    while abs(outside - inside) > _CLOSE:
        middle = (inside + outside) / 2
        if within(middle):
            inside = middle
        else:
            outside = middle
    return outside


def bets(mean: float, low: float, high: float) -> list[float]:
    """What is bet on a mean of scores from `low` to `high`: a score x makes a stake 1 + bet (x - mean) times as large.

    It can be compiled as it is, as can `log_capital`.
    """
    return [part / (mean - low) if part > 0 else part / (high - mean) for part in FRACTIONS]


def log_capital(gained: Sequence[float]) -> float:
    """The logarithm of the whole stake by those of how many times as large each part of it has grown."""
    most = max(gained)
    total = 0.0
    for at, part in enumerate(PARTS):
        total += part * math.exp(gained[at] - most)
    return most + math.log(total)
