"""Mean payoff of a bot per round, with equal weight for every opponent, and its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct

from measuring.student_t import satterthwaite, student_cdf, student_reach


class Paid(NamedTuple):
    """The total payoff of a bot in one or more rounds."""

    total: float
    rounds: int


class PairPayoffs(NamedTuple):
    """Payoffs of a bot against one opponent: number of units, mean of all rounds, and sum of squared deviations.

    A unit is a match, or all matches of one start. The deviation of a unit that paid `total` in `rounds` is (total -
    mean · rounds), divided by the mean number of rounds of a unit.
    """

    units: int
    mean: float
    squares: float


class MeanPayoff(Struct, frozen=True, kw_only=True):
    """The mean over so many `opponents` of the mean payoff of all rounds against each, and its 95 % interval, None
    where no opponent was met twice. Opponents are taken as given: it says what more matches against them would change.
    """

    mean: float
    low: float | None
    high: float | None
    opponents: int


def mean_of_rounds(units: Sequence[Paid]) -> list[float]:
    """Return one value for each unit, so that their mean is the mean of all rounds.

    Their deviations from it are those of `PairPayoffs`. So a ratio, the mean of matches of different lengths, is
    treated as a mean of values (W. G. Cochran, Sampling Techniques, 1977, 6.4).
    """
    rounds = sum(unit.rounds for unit in units)
    mean, length = math.fsum(unit.total for unit in units) / rounds, rounds / len(units)
    return [mean + (unit.total - mean * unit.rounds) / length for unit in units]


def pair_payoffs(payoffs: Sequence[float]) -> PairPayoffs:
    """Summarise the values of one or more units."""
    mean = fmean(payoffs)
    return PairPayoffs(len(payoffs), mean, math.fsum((payoff - mean) ** 2 for payoff in payoffs))


def mean_payoff(pairs: Iterable[PairPayoffs]) -> MeanPayoff | None:
    """Return the mean over opponents, or None without opponents.

    Its squared standard error is the sum of s²/n of each opponent's mean, divided by the square of the number of
    opponents. An opponent that was met once gets the variance within all others. The interval is Student's, with the
    degrees of freedom of B. L. Welch, The generalization of 'Student's' problem when several different population
    variances are involved (1947).
    """
    met = list(pairs)
    if not met:
        return None
    mean, low, high = fmean(pair.mean for pair in met), None, None
    if (found := _error(met)) is not None:
        error, freedom = found
        reach = student_reach(freedom) * error / len(met) if error else 0.0
        low, high = mean - reach, mean + reach
    return MeanPayoff(mean=mean, low=low, high=high, opponents=len(met))


def chance_of_difference(strata: Sequence[PairPayoffs]) -> float:
    """Return the two-sided p-value of the sum of the strata's means, under the hypothesis that it is 0.

    It is Student's test with the error and the degrees of freedom of `mean_payoff`; 1 if there is no estimate of the
    error.
    """
    found = _error(strata)
    total = math.fsum(stratum.mean for stratum in strata)
    if found is None or abs(total) < _EQUAL:
        return 1.0
    error, freedom = found
    return 2 * student_cdf(-abs(total) / error, freedom) if error else 0.0


_EQUAL = 1e-9
"""Sums below this are rounding errors."""


def _error(met: Sequence[PairPayoffs]) -> tuple[float, float] | None:
    """Return the standard error of the sum of the means and its degrees of freedom; None if all have one unit."""
    parts: list[tuple[float, int]] = []
    freedom, squares = 0, 0.0
    for units, _, deviations in met:
        if units > 1:
            parts.append((deviations / (units - 1) / units, units - 1))
            freedom, squares = freedom + units - 1, squares + deviations
    if not freedom:
        return None
    if lone := len(met) - len(parts):
        parts.append((lone * squares / freedom, freedom))
    total = math.fsum(part for part, _ in parts)
    if total < _EQUAL**2:
        return 0.0, freedom
    return math.sqrt(total), satterthwaite(parts)
