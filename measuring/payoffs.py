"""What a bot was paid a round on the average, every opponent weighing the same, with an interval. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct

from measuring.scores import student_reach


class PairPayoffs(NamedTuple):
    """What a bot was paid against one opponent: in so many units (matches, or the matches of one start), their mean,
    and the sum of the squares by which they differ from it.
    """

    units: int
    mean: float
    squares: float


class MeanPayoff(Struct, frozen=True, kw_only=True):
    """The mean over so many `opponents` of the mean payoff a round against each, and its 95 % interval, None where no
    opponent was met twice. Opponents are taken as given: the interval says what more matches against them would change.
    """

    mean: float
    low: float | None
    high: float | None
    opponents: int


def pair_payoffs(payoffs: Sequence[float]) -> PairPayoffs:
    """Those of units with these payoffs, one at least."""
    mean = fmean(payoffs)
    return PairPayoffs(len(payoffs), mean, math.fsum((payoff - mean) ** 2 for payoff in payoffs))


def mean_payoff(pairs: Iterable[PairPayoffs]) -> MeanPayoff | None:
    """The mean over opponents; None without any.

    Its squared standard error is the mean's of each opponent, s²/n, summed and divided by the square of how many there
    are; the variance of one that was met once is that within all others. The interval is Student's, with the degrees of
    freedom of B. L. Welch, The generalization of 'Student's' problem when several different population variances are
    involved (1947).
    """
    met = list(pairs)
    if not met:
        return None
    mean = fmean(pair.mean for pair in met)
    freedom = sum(pair.units - 1 for pair in met)
    if not freedom:
        return MeanPayoff(mean=mean, low=None, high=None, opponents=len(met))
    parts = [(pair.squares / (pair.units - 1) / pair.units, pair.units - 1) for pair in met if pair.units > 1]
    lone = sum(pair.units == 1 for pair in met)
    if lone:
        parts.append((lone * sum(pair.squares for pair in met) / freedom, freedom))
    total = sum(part for part, _ in parts)
    reach = 0.0
    if total:
        certain = total**2 / sum(part**2 / free for part, free in parts)
        reach = student_reach(certain) * math.sqrt(total) / len(met)
    return MeanPayoff(mean=mean, low=mean - reach, high=mean + reach, opponents=len(met))
