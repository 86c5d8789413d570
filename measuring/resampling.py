"""Forecast the length and error rates of a sequential test by simulating tests with pairs drawn from a pilot.

Pairs of the pilot are drawn with replacement, so they spread like future pairs, as far as the pilot shows. The mean of
the pairs is moved to that of the hypothesis: adjusted scores are shifted, and raw results are drawn with their
maximum-likelihood probabilities under the hypothesis. Equal seeds give equal forecasts. Source: B. Efron, R. J.
Tibshirani, An Introduction to the Bootstrap (1993).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct

from measuring.sequential import Hypotheses, Pentanomial, SequentialTest, Verdict, fit_hypotheses

MAX_TESTS = 500
"""Maximum number of simulated tests for each hypothesis."""
MAX_DRAWN_PAIRS = 150_000
"""Number of sampled pairs, over all simulated tests of a hypothesis, after which no further test starts. It limits the
time for both hypotheses to some seconds.
"""


class SimulatedTests(Struct, frozen=True, kw_only=True):
    """A summary of simulated tests under one hypothesis: their number, how often they err, and how many pairs they
    take.

    `errors` is the fraction of tests that accept the other hypothesis, `undecided` the fraction without a verdict.
    `median` and `percentile_90` are the numbers of pairs after which 50 % and 90 % of the tests have decided; None if
    fewer tests ever decide.
    """

    tests: int
    errors: float
    undecided: float
    median: int | None
    percentile_90: int | None


class Forecast(Struct, frozen=True, kw_only=True):
    """The results of simulated tests: one summary if h0 is true, one if h1 is true."""

    h0: SimulatedTests
    h1: SimulatedTests


def forecast(
    test_class: type[SequentialTest], hypotheses: Hypotheses, pilot: Sequence[float], max_pairs: int, seed: str
) -> Forecast:
    """Forecast tests of up to `max_pairs` pairs from at least two pilot scores. Raise `UsageFault` as the tests do."""
    drawn = _pools_of_results(hypotheses, pilot) if test_class is Pentanomial else _pools_of_adjusted(hypotheses, pilot)
    h0, h1 = (
        _simulate(test_class, hypotheses, pool, holds, max_pairs, Random(f"{seed}/{holds}"))  # noqa: S311 -- drawn to be repeated
        for pool, holds in zip(drawn, _HYPOTHESES, strict=True)
    )
    return Forecast(h0=h0, h1=h1)


_HYPOTHESES: tuple[Verdict, Verdict] = ("h0", "h1")
"""The names of the two hypotheses in verdicts."""


class _Pool(NamedTuple):
    """Scores to draw from, with their cumulative probabilities. These are None if all scores are equally likely."""

    scores: Sequence[float]
    chances: Sequence[float] | None = None


def _pools_of_results(hypotheses: Hypotheses, pilot: Sequence[float]) -> list[_Pool]:
    scores = [quarter / 4 for quarter in range(5)]
    counts = [pilot.count(score) for score in scores]
    return [_Pool(scores, list(accumulate(chances))) for chances in fit_hypotheses(hypotheses, counts)]


def _pools_of_adjusted(hypotheses: Hypotheses, pilot: Sequence[float]) -> list[_Pool]:
    mean = fmean(pilot)
    return [_Pool([score - mean + held for score in pilot]) for held in hypotheses.scores]


def _simulate(
    test: type[SequentialTest],
    hypotheses: Hypotheses,
    pool: _Pool,
    true_hypothesis: Verdict,
    max_pairs: int,
    rng: Random,
) -> SimulatedTests:
    verdicts: list[Verdict | None] = []
    pairs: list[int] = []
    while len(verdicts) < MAX_TESTS and sum(pairs) < MAX_DRAWN_PAIRS:
        one = test(hypotheses)
        while one.verdict is None and one.pairs < max_pairs:
            one.add(rng.choices(pool.scores, cum_weights=pool.chances)[0])
        verdicts.append(one.verdict)
        pairs.append(one.pairs)
    decided = sorted(count for count, verdict in zip(pairs, verdicts, strict=True) if verdict is not None)
    tests = len(verdicts)

    def pairs_until_decided(share: float) -> int | None:
        needed = math.ceil(share * tests)
        return decided[needed - 1] if needed <= len(decided) else None

    return SimulatedTests(
        tests=tests,
        errors=(len(decided) - verdicts.count(true_hypothesis)) / tests,
        undecided=verdicts.count(None) / tests,
        median=pairs_until_decided(0.5),
        percentile_90=pairs_until_decided(0.9),
    )
