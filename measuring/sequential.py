"""Sequential tests on the scores of pairs: after each pair they accept one of two hypotheses or stay undecided.

They are generalised likelihood ratio tests: the ratio compares the most likely distributions under the two hypotheses.
`Pentanomial` takes counts of raw results, `RealValued` takes results less luck, which are real numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import fmean
from typing import Literal

from msgspec import Struct

from measuring.constrained_multinomial import fit_mean, fit_normalised_mean, solve_multiplier
from measuring.elo import score_of
from measuring.normalised_elo import NORMALISED_ELO_SCALE
from measuring.pair_scores import MIN_UNITS
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault

_LIMIT_BY_UNIT = {
    "score": ("a score", 0.5),
    "elo": ("a difference in elo", 1000.0),
    "nelo": ("a difference in nelo", 1000.0),
}
"""The units in which hypotheses are stated. Each has its description in messages, and a limit: the absolute value of a
hypothesis must be below it.
"""
MIN_ERROR = 1e-12
"""The least error probability. Logarithms of much smaller ones are infinite."""
MIN_GAP_RATIO = 1e-6
"""The least difference of the hypotheses, as a part of their limit. Rounding errors hide smaller ones."""
_PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The possible mean scores of a pair of games."""
UNSEEN_COUNT = 1e-3
"""Count assigned to a score that no pair has had yet. The program fishtest uses the same count."""
_CACHED_RATIOS = 10_000
"""Maximum number of cached log likelihood ratios. Simulated tests begin with the same few counts again and again."""
_MIN_VARIANCE = 1e-18
"""Variance of pairs below which all pairs count as equal. A smaller variance is a rounding error."""
_SKEWNESS_FACTOR = 1.25
"""Factor that corrects the skewness of a small sample, which is too low on average. It fits samples of some dozens of
exponentially distributed values.
"""
LOG_LIKELIHOOD_GAIN = 0.5
"""Average gain in log likelihood of the best-fitting mean over the true mean: half the mean of a chi-squared variable
with one degree of freedom.
"""

Verdict = Literal["h0", "h1"]
Unit = Literal["score", "elo", "nelo"]


class Hypotheses(Struct, frozen=True, kw_only=True):
    """The two hypotheses of a test: the side is better than its opponent by at most `h0`, or by at least `h1`.

    `unit` is the unit of h0 and h1: score above one half, Elo or normalised Elo. `alpha` is the chance to accept h1
    although h0 is true, `beta` the chance to accept h0 although h1 is true. Invalid values raise `UsageFault`.
    """

    h0: float = 0.0
    h1: float
    unit: Unit = "score"
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if self.unit not in _LIMIT_BY_UNIT:
            raise UsageFault(f"unit is {short_repr(self.unit)}: {list_choices(_LIMIT_BY_UNIT)}")
        what, widest = _LIMIT_BY_UNIT[self.unit]
        for name, value in (("h0", self.h0), ("h1", self.h1)):
            if not -widest < value < widest:
                raise UsageFault(f"{name} is {value:g}: it must be {what} between -{widest:g} and {widest:g}")
        gap = MIN_GAP_RATIO * widest
        if self.h1 - self.h0 < gap:
            least = f", by {gap:g} at least" if self.h1 > self.h0 else ""
            raise UsageFault(f"h1 is {self.h1:g}: it must be more than h0, which is {self.h0:g}{least}")
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < 0.5:
                raise UsageFault(f"{name} is {value:g}: it must be above 0 and below 0.5")
            if value < MIN_ERROR:
                raise UsageFault(f"{name} is {value:g}: it must be {MIN_ERROR:g} at least")

    @property
    def lower(self) -> float:
        """The log likelihood ratio at which h0 is accepted. Source: A. Wald, Sequential Analysis (1947), 3.2."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """The log likelihood ratio at which h1 is accepted."""
        return math.log((1 - self.beta) / self.alpha)

    @property
    def scores(self) -> tuple[float, float]:
        """The scores expected under h0 and h1. Undefined in normalised Elo, which depends on the spread of results."""
        if self.unit == "nelo":
            raise UsageFault("normalised Elo needs results with luck left in: give h0 and h1 in score or elo")
        if self.unit == "elo":
            return score_of(self.h0), score_of(self.h1)
        return 0.5 + self.h0, 0.5 + self.h1


class SequentialTest(ABC):
    """A sequential test in progress. Pairs are added in the order of the schedule; pairs after the verdict change
    nothing.

    `verdict`, after `pairs` pairs, is None while neither hypothesis is accepted.
    """

    def __init__(self, hypotheses: Hypotheses) -> None:
        self.hypotheses = hypotheses
        self.pairs = 0
        self.verdict: Verdict | None = None

    def add(self, score: float) -> None:
        """Add the mean score of a pair. Raise `UsageFault` if the score is impossible."""
        if not self._is_possible(score):
            raise UsageFault(f"pair {self.pairs + 1} scores {score:g}: it must be {self._score_description}")
        if self.verdict is None:
            self.pairs += 1
            self._process(score)
            self.verdict = self._decide()

    @property
    @abstractmethod
    def llr(self) -> float:
        """The log likelihood ratio of h1 to h0."""

    _score_description: str
    """The words in error messages that say which scores a pair may have."""

    @abstractmethod
    def _is_possible(self, score: float) -> bool:
        """Return whether a pair may have this score."""

    @abstractmethod
    def _process(self, score: float) -> None:
        """Add the score of a pair to the test. `pairs` counts this pair already."""

    def _decide(self) -> Verdict | None:
        return self._accept(self.llr)

    def _accept(self, llr: float) -> Verdict | None:
        return "h1" if llr >= self.hypotheses.upper else "h0" if llr <= self.hypotheses.lower else None


class Pentanomial(SequentialTest):
    """A test on raw results, in which the mean score of a pair has one of five values.

    Source: M. Van den Bergh, The generalized sequential probability ratio test for a multinomial distribution (2019).
    """

    _score_description = "one of 0, 0.25, 0.5, 0.75, 1"

    def __init__(self, hypotheses: Hypotheses) -> None:
        super().__init__(hypotheses)
        self.counts = [0] * 5
        self._llr = 0.0

    @property
    def llr(self) -> float:
        return self._llr

    def _is_possible(self, score: float) -> bool:
        return score in _PAIR_SCORES

    def _process(self, score: float) -> None:
        self.counts[_PAIR_SCORES.index(score)] += 1
        self._llr = multinomial_llr(self.hypotheses, self.counts)


def multinomial_llr(hypotheses: Hypotheses, counts: Sequence[int]) -> float:
    """Return the log likelihood ratio of h1 to h0, from the number of times that each possible score occurred. Scores
    go from 0 to 1 in equal steps: there are five counts for pairs, three for single games.
    """
    return _multinomial_llr(hypotheses, tuple(counts))


@lru_cache(maxsize=_CACHED_RATIOS)
def _multinomial_llr(hypotheses: Hypotheses, counts: tuple[int, ...]) -> float:
    null, other = fit_hypotheses(hypotheses, counts)
    return sum((count or UNSEEN_COUNT) * math.log(p1 / p0) for count, p0, p1 in zip(counts, null, other, strict=True))


def fit_hypotheses(hypotheses: Hypotheses, counts: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return the maximum-likelihood probabilities of the scores under h0 and under h1."""
    most = len(counts) - 1
    scores, seen = [at / most for at in range(most + 1)], [count or UNSEEN_COUNT for count in counts]
    if hypotheses.unit != "nelo":
        null, other = (fit_mean(scores, seen, mean) for mean in hypotheses.scores)
    else:
        games = math.sqrt(most / 2)
        deviations = (games * elo / NORMALISED_ELO_SCALE for elo in (hypotheses.h0, hypotheses.h1))
        null, other = (fit_normalised_mean(scores, seen, 0.5, each) for each in deviations)
    return null, other


def mean_llr(
    values: Sequence[float],
    counts: Sequence[float],
    mean0: float,
    mean1: float,
    solve_multiplier: Callable[[Sequence[float], Sequence[float]], float],
) -> float:
    """Return the log likelihood ratio of the mean `mean1` to the mean `mean0`, with the most likely distribution for
    each.

    Both means lie between the smallest and the largest value. numba can compile the function unchanged. Pass the
    function `solve_multiplier` as it is, or compiled if this function is compiled.
    """
    x0 = solve_multiplier([value - mean0 for value in values], counts)
    x1 = solve_multiplier([value - mean1 for value in values], counts)
    total = 0.0
    for at, value in enumerate(values):
        total += counts[at] * math.log((1 + x0 * (value - mean0)) / (1 + x1 * (value - mean1)))
    return total


def normal_llr(pairs: int, total: float, squares: float, cubes: float, mean0: float, mean1: float) -> float:
    """Return the log likelihood ratio of the mean `mean1` to the mean `mean0` for normal values of unknown spread.

    The ratio is n/2 ln(sum (x - mean0)^2 / sum (x - mean1)^2), from sums of powers of the values minus one half. For
    skewed values, this ratio alone would err up to 1.5 times as often as it should. So the ratio is also computed with
    means corrected for skewness, and the weaker of the two ratios counts. numba can compile the function unchanged.
    Source: P. Hall, On the removal of skewness by transformation (1992).
    """
    mean, square, cube = total / pairs, squares / pairs, cubes / pairs
    variance = max(0.0, square - mean * mean)
    skewness = 0.0
    if variance < _MIN_VARIANCE:
        variance = _MIN_VARIANCE
    else:
        skewness = _SKEWNESS_FACTOR * (cube - 3 * mean * square + 2 * mean**3) / variance**1.5
    spread = math.sqrt(variance)
    away0, away1 = (mean + 0.5 - mean0) / spread, (mean + 0.5 - mean1) / spread
    plain = pairs / 2 * math.log((1 + away0 * away0) / (1 + away1 * away1))
    shift, square, cube = skewness / (6 * pairs), skewness / 3, skewness**2 / 27
    freed0 = away0 + shift + square * away0**2 + cube * away0**3
    freed1 = away1 + shift + square * away1**2 + cube * away1**3
    freed = pairs / 2 * math.log((1 + freed0 * freed0) / (1 + freed1 * freed1))
    if plain * freed <= 0:
        return 0.0
    return plain if abs(plain) < abs(freed) else freed


def max_empirical_llr(pairs: int, total: float, mean0: float, mean1: float) -> float:
    """Return an upper bound of the absolute empirical log likelihood ratio of `RealValued` after this many pairs.

    The bound is that of distributions that reach the mean of a hypothesis only by moving weight from the observed
    scores to scores of 0 or 1. numba can compile the function unchanged.
    """
    mean = (total + 0.5 * pairs + UNSEEN_COUNT) / (pairs + 2 * UNSEEN_COUNT)
    if not 0 < mean < 1:
        return math.inf
    missed = max((mean - mean0) / mean, (mean1 - mean) / (1 - mean))
    return -(pairs + 2 * UNSEEN_COUNT) * math.log(1 - missed) - LOG_LIKELIHOOD_GAIN


class RealValued(SequentialTest):
    """A sequential test on adjusted results, whose spread is unknown. It decides after `MIN_UNITS` pairs at the
    earliest, and by the weaker of two likelihood ratios.

    The first ratio is `normal_llr`. The second allows for rare mistakes: it compares the most likely distribution with
    a mean of at least h1 to that with a mean of at most h0, on the values seen so far and on 0 and 1. A thousandth is
    added to the counts of 0 and 1, so that these values are possible even if no pair has them. Hypotheses in normalised
    Elo raise `UsageFault`. Source: A. B. Owen, Empirical Likelihood (2001), 2.9.
    """

    _score_description = "a finite number"

    def __init__(self, hypotheses: Hypotheses) -> None:
        super().__init__(hypotheses)
        self._means = hypotheses.scores
        self._sum = self._squares = self._cubes = 0.0
        self._values = [0.0, 1.0]
        self._counts = [UNSEEN_COUNT, UNSEEN_COUNT]

    @property
    def llr(self) -> float:
        normal = self._normal_llr()
        (null, other), mean = self._means, fmean(self._values, self._counts)
        likeliest = mean_llr(self._values, self._counts, min(null, mean), max(other, mean), solve_multiplier)
        if normal * likeliest <= 0:
            return 0.0
        return math.copysign(min(abs(normal), max(0.0, abs(likeliest) - LOG_LIKELIHOOD_GAIN)), normal)

    def _is_possible(self, score: float) -> bool:
        return math.isfinite(score)

    def _process(self, score: float) -> None:
        about = score - 0.5  # powers of what is far from 0 would round away a small spread
        self._sum += about
        self._squares += about * about
        self._cubes += about * about * about
        self._values.append(score)
        self._counts.append(1.0)

    def _decide(self) -> Verdict | None:
        if self.pairs < MIN_UNITS:
            return None
            # The other ratio takes time in the number of pairs, and can't be more than its bound.
        normal, most = self._normal_llr(), max_empirical_llr(self.pairs, self._sum, *self._means)
        return self._accept(math.copysign(min(abs(normal), most), normal)) and super()._decide()

    def _normal_llr(self) -> float:
        return normal_llr(self.pairs, self._sum, self._squares, self._cubes, *self._means) if self.pairs else 0.0
