"""The mean payoff of a bot per round, with an interval. An opponent's weight is the number of rounds against it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct

from measuring.student_t import satterthwaite, student_cdf, t_critical

MAX_WEIGHT_ROUNDS = 200
"""Maximum weight of an opponent, in rounds. Below this limit, the weight is the number of rounds played against the
opponent.

With such weights, a bot cannot raise its mean by choosing when to leave: the expected sum of payoffs is the mean of a
round times the expected number of rounds (A. Wald, On cumulative sums of random variables, 1944). This does not hold
above the limit, so the limit is the length of the longest match of a preset: no single match is above it. The limit is
not larger, so that one opponent that is met all day does not outweigh the others.
"""


class TotalPayoff(NamedTuple):
    """The total payoff of a bot in one or more rounds."""

    total: float
    rounds: int


class PairPayoffs(NamedTuple):
    """A bot's payoffs against one opponent. `units` is the number of units (matches, or groups of matches that share a
    start position), `rounds` the number of rounds in all of them.

    `mean` is the mean payoff of a round. A unit that paid `total` in `rounds` has the deviation (total - mean · rounds)
    / (mean number of rounds of a unit). `squares` is the sum of the squares of all units' deviations.
    """

    units: int
    mean: float
    squares: float
    rounds: int

    @property
    def weight(self) -> int:
        """The weight of the opponent, in rounds, in a mean over opponents."""
        return min(self.rounds, MAX_WEIGHT_ROUNDS)


class WeightedPair(NamedTuple):
    """The payoffs against one opponent, and the factor by which their mean is multiplied in a weighted sum."""

    pair: PairPayoffs
    factor: float


class MeanPayoff(Struct, frozen=True, kw_only=True):
    """The mean payoff per round over `opponents`, weighted by `PairPayoffs.weight`, and its 95 % interval. The interval
    is None if no opponent was met twice. The interval allows for further matches against the same opponents, not for
    other opponents.
    """

    mean: float
    low: float | None
    high: float | None
    opponents: int


def mean_of_rounds(units: Sequence[TotalPayoff]) -> list[float]:
    """Return one value for each unit, so that the mean of these values is the mean payoff per round. A unit's value is
    that mean plus the unit's deviation, which `PairPayoffs` defines.

    In this way a ratio, the payoff per round of matches of different lengths, is treated as a mean of values (W. G.
    Cochran, Sampling Techniques, 1977, 6.4).
    """
    rounds = sum(unit.rounds for unit in units)
    mean, length = math.fsum(unit.total for unit in units) / rounds, rounds / len(units)
    return [mean + (unit.total - mean * unit.rounds) / length for unit in units]


def pair_payoffs(payoffs: Sequence[float], rounds: int) -> PairPayoffs:
    """Return a summary of a bot's payoffs against one opponent, in one or more units. `payoffs` has a value for each
    unit, from `mean_of_rounds`; `rounds` is the number of rounds of all units.
    """
    mean = fmean(payoffs)
    return PairPayoffs(len(payoffs), mean, math.fsum((payoff - mean) ** 2 for payoff in payoffs), rounds)


def weighted_pairs(pairs: Iterable[PairPayoffs]) -> list[WeightedPair]:
    """Return the summands of the weighted mean over one or more opponents. Each has the payoffs against an opponent,
    and as its factor the opponent's share of the total weight.
    """
    met = list(pairs)
    total = sum(pair.weight for pair in met)
    return [WeightedPair(pair, pair.weight / total) for pair in met]


def mean_payoff(pairs: Iterable[PairPayoffs]) -> MeanPayoff | None:
    """Return the mean payoff over opponents; None if there are none.

    The squared standard error is a sum over opponents: the variance of the opponent's units, divided by their number,
    times the square of the opponent's share of the total weight. An opponent with a single unit has no variance of its
    own. It gets the pooled variance of the opponents with several units, scaled to its number of rounds. The interval
    is Student's, with the degrees of freedom of B. L. Welch, The generalization of 'Student's' problem when several
    different population variances are involved (1947).
    """
    met = weighted_pairs(pairs)
    if not met:
        return None
        # Taken from one of them, the mean of equal numbers is that number to the last bit.
    origin = met[0].pair.mean
    mean = origin + math.fsum(factor * (pair.mean - origin) for pair, factor in met)
    low = high = None
    if (found := _standard_error(met)) is not None:
        error, freedom = found
        reach = t_critical(freedom) * error if error else 0.0
        low, high = mean - reach, mean + reach
    return MeanPayoff(mean=mean, low=low, high=high, opponents=len(met))


def p_value(strata: Sequence[WeightedPair]) -> float:
    """Return the two-sided p-value of Student's test of the hypothesis that a sum is 0: the sum of the true means in
    `strata`, each times its factor. The standard error and the degrees of freedom are computed as in `mean_payoff`.
    Return 1 if the error cannot be estimated.
    """
    found = _standard_error(strata)
    total = math.fsum(factor * pair.mean for pair, factor in strata)
    if found is None or abs(total) < _ROUNDING_ERROR:
        return 1.0
    error, freedom = found
    return 2 * student_cdf(-abs(total) / error, freedom) if error else 0.0


_ROUNDING_ERROR = 1e-9
"""Absolute value below which a sum of weighted means counts as 0, because it is a rounding error."""


def _standard_error(pairs: Sequence[WeightedPair]) -> tuple[float, float] | None:
    """Return the standard error of the sum of the mean payoffs times their factors, and its degrees of freedom. Return
    None if no element of `pairs` has more than one unit.
    """
    parts: list[tuple[float, int]] = []
    freedom, squares, lone = 0, 0.0, 0.0
    for (units, _, deviations, rounds), factor in pairs:
        if units > 1:
            parts.append((factor**2 * deviations / (units - 1) / units, units - 1))
            freedom, squares = freedom + units - 1, squares + deviations * rounds / units
        else:
            lone += factor**2 / rounds
    if not freedom:
        return None
    if lone:
        parts.append((lone * squares / freedom, freedom))
    total = math.fsum(part for part, _ in parts)
    if total < _ROUNDING_ERROR**2:
        return 0.0, freedom
    return math.sqrt(total), satterthwaite(parts)


def format_payoff(value: float) -> str:
    """Format a payoff: `2.553`, with fewer decimals from a thousand on."""
    return f"{value:z.3f}" if abs(value) < 1000 else f"{value:z.1f}"


def format_payoff_interval(payoff: MeanPayoff) -> str:
    """Format an interval of payoffs: `2.541-2.565`, or `-0.021 to 0.004` with a minus sign; empty if there is none."""
    if payoff.low is None or payoff.high is None:
        return ""
    low, high = format_payoff(payoff.low), format_payoff(payoff.high)
    return f"{low} to {high}" if low.startswith("-") else f"{low}-{high}"
