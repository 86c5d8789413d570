"""Sequential tests on the scores of pairs: after every pair, which of two hypotheses holds, or that it isn't clear yet.

Generalised: the likelihood ratio has the likeliest distribution under each hypothesis, for counts of raw results or for
real values, results less luck. Pure.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal

from msgspec import Struct

from measuring.constrained_multinomial import with_deviations, with_mean
from measuring.elo import NORMALISED, score_of
from measuring.pair_scores import MIN_UNITS
from protocol.display import among, shown
from protocol.errors import UsageFault

_WIDEST = {"score": ("a score", 0.5), "elo": ("a difference in elo", 1000.0), "nelo": ("a difference in nelo", 1000.0)}
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_UNSEEN = 1e-3
"""What counts for a score that no pair had yet, as fishtest has it."""
_MISSED = 0.3**2
"""The square by which a pair differs of which a game turns by 0.6 of a point."""
_UNDERRATED = 1.25
"""How much more skewed exponential values are than some dozens of them show."""

Verdict = Literal["h0", "h1"]
Unit = Literal["score", "elo", "nelo"]


class Hypotheses(Struct, frozen=True, kw_only=True):
    """The side is better by `h0` or less, or by `h1` or more: as a score above one half, in Elo or in normalised Elo.

    `alpha` is the chance to accept h1 where h0 holds, `beta` that to accept h0 where h1 does. Raises `UsageFault`.
    """

    h0: float = 0.0
    h1: float
    unit: Unit = "score"
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if self.unit not in _WIDEST:
            raise UsageFault(f"unit is {shown(self.unit)}: {among(_WIDEST)}")
        what, widest = _WIDEST[self.unit]
        for name, value in (("h0", self.h0), ("h1", self.h1)):
            if not -widest < value < widest:
                raise UsageFault(f"{name} is {value:g}: {what} between -{widest:g} and {widest:g}")
        if not self.h0 < self.h1:
            raise UsageFault(f"h1 is {self.h1:g}: it must be more than h0, which is {self.h0:g}")
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < 0.5:
                raise UsageFault(f"{name} is {value:g}: it must be above 0 and below 0.5")

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
        """h0 and h1 as shares of the points; not in normalised Elo, which depends on how results spread."""
        if self.unit == "nelo":
            raise UsageFault("normalised Elo is of results with luck left in: h0 and h1 as score or in elo")
        if self.unit == "elo":
            return score_of(self.h0), score_of(self.h1)
        return 0.5 + self.h0, 0.5 + self.h1


class SequentialTest(ABC):
    """A test under way. Pairs are added in the order of the schedule; what comes after the verdict changes nothing.

    `llr` is the log likelihood ratio of h1 to h0 after `pairs` pairs, `verdict` None while neither is accepted.
    """

    _least = 1
    """Pairs before a verdict."""

    def __init__(self, hypotheses: Hypotheses) -> None:
        self.hypotheses = hypotheses
        self.pairs = 0
        self.llr = 0.0
        self.verdict: Verdict | None = None

    def add(self, score: float) -> None:
        """Take a pair's mean score."""
        if self.verdict is not None:
            return
        self.pairs += 1
        self.llr = self._after(score)
        if self.pairs >= self._least:
            if self.llr >= self.hypotheses.upper:
                self.verdict = "h1"
            elif self.llr <= self.hypotheses.lower:
                self.verdict = "h0"

    @abstractmethod
    def _after(self, score: float) -> float:
        """The log likelihood ratio with one pair more, which `pairs` counts already."""


class Pentanomial(SequentialTest):
    """Of results as they came out: a pair's mean score is one of five.

    Source: M. Van den Bergh, The generalized sequential probability ratio test for a multinomial distribution (2019).
    """

    def __init__(self, hypotheses: Hypotheses) -> None:
        super().__init__(hypotheses)
        self.counts = [0] * 5

    def _after(self, score: float) -> float:
        self.counts[_QUARTERS.index(score)] += 1
        return pentanomial_llr(self.hypotheses, self.counts)


def pentanomial_llr(hypotheses: Hypotheses, counts: list[int]) -> float:
    """The log likelihood ratio of pairs that scored 0, 1/4, 1/2, 3/4 and 1 so many times."""
    seen = [count or _UNSEEN for count in counts]
    if hypotheses.unit == "nelo":
        deviations = [math.sqrt(2) * elo / NORMALISED for elo in (hypotheses.h0, hypotheses.h1)]
        null, other = (with_deviations(_QUARTERS, seen, 0.5, each) for each in deviations)
    else:
        null, other = (with_mean(_QUARTERS, seen, mean) for mean in hypotheses.scores)
    return sum(count * math.log(p1 / p0) for count, p0, p1 in zip(seen, null, other, strict=True))


class RealValued(SequentialTest):
    """Of adjusted results, of unknown spread: n/2 ln(sum (x - m0)^2 / sum (x - m1)^2), from `MIN_UNITS` pairs on.

    That alone errs up to twice as often as it should where results are skewed, or where most are alike and a few are
    not. So the same is taken of means freed of skewness too, and what says less counts; and to either sum is added what
    one pair would that has not come yet, of which a game turns by 0.6 of a point. Raises `UsageFault` for hypotheses in
    normalised Elo. Source: P. Hall, On the removal of skewness by transformation (1992).
    """

    _least = MIN_UNITS

    def __init__(self, hypotheses: Hypotheses) -> None:
        super().__init__(hypotheses)
        self._means = hypotheses.scores
        self._sum = self._squares = self._cubes = 0.0

    def _after(self, score: float) -> float:
        about = score - 0.5  # powers of what is far from 0 would round away a small spread
        self._sum += about
        self._squares += about * about
        self._cubes += about * about * about
        mean, square, cube = (each / self.pairs for each in (self._sum, self._squares, self._cubes))
        spread = math.sqrt(max(0.0, square - mean * mean) + _MISSED / self.pairs)
        skewness = _UNDERRATED * (cube - 3 * mean * square + 2 * mean**3) / spread**3
        null, other = ((mean + 0.5 - held) / spread for held in self._means)
        plain = self._ratio(null, other)
        freed = self._ratio(*(_without(skewness, each, self.pairs) for each in (null, other)))
        return min(plain, freed, key=abs) if plain * freed > 0 else 0.0

    def _ratio(self, null: float, other: float) -> float:
        """The log likelihood ratio where the mean is so many standard deviations above m0 and m1."""
        return self.pairs / 2 * math.log((1 + null * null) / (1 + other * other))


def _without(skewness: float, deviations: float, pairs: int) -> float:
    """How far a mean is from another, in standard deviations, were its distribution not skewed."""
    return deviations + skewness * (deviations**2 / 3 + 1 / (6 * pairs)) + skewness**2 * deviations**3 / 27
