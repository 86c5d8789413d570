"""What a sequential test will take, and how often it will err, by tests of pairs that are drawn from those of a pilot.

The pairs of a pilot, drawn with replacement, spread as those to come do, as far as the pilot shows it. Their mean is
that of the hypothesis: adjusted ones are moved, results get the likeliest chances under it. Pure; equal seeds give
equal forecasts. Source: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct

from measuring.sequential import Hypotheses, Pentanomial, SequentialTest, Verdict, likeliest_chances

TESTS = 500
"""At each hypothesis, at most."""
MOST_DRAWN = 150_000
"""Pairs for the tests at one hypothesis, after which no other begins: some seconds for both."""


class SimulatedTests(Struct, frozen=True, kw_only=True):
    """Where one hypothesis holds, by so many `tests`: in what share of them the other is accepted, what share decides
    nothing, and the number of pairs by which half of them, and 90 %, have decided; None where fewer ever do.
    """

    tests: int
    errors: float
    undecided: float
    median: int | None
    percentile_90: int | None


class Forecast(Struct, frozen=True, kw_only=True):
    """What to expect of a test, where h0 holds and where h1 does."""

    h0: SimulatedTests
    h1: SimulatedTests


def forecast(
    test: type[SequentialTest], hypotheses: Hypotheses, pilot: Sequence[float], most: int, seed: str
) -> Forecast:
    """Of tests of at most so many pairs, by the mean scores of two pairs or more; raises `UsageFault` as they do."""
    drawn = _of_results(hypotheses, pilot) if test is Pentanomial else _of_adjusted(hypotheses, pilot)
    h0, h1 = (
        _simulate(test, hypotheses, pool, holds, most, Random(f"{seed}/{holds}"))  # noqa: S311 -- drawn to be repeated
        for pool, holds in zip(drawn, _HYPOTHESES, strict=True)
    )
    return Forecast(h0=h0, h1=h1)


_HYPOTHESES: tuple[Verdict, Verdict] = ("h0", "h1")


class _Pool(NamedTuple):
    """What pairs are drawn from: their scores, by chances that are summed up."""

    scores: Sequence[float]
    chances: Sequence[float] | None = None


def _of_results(hypotheses: Hypotheses, pilot: Sequence[float]) -> list[_Pool]:
    scores = [quarter / 4 for quarter in range(5)]
    counts = [pilot.count(score) for score in scores]
    return [_Pool(scores, list(accumulate(chances))) for chances in likeliest_chances(hypotheses, counts)]


def _of_adjusted(hypotheses: Hypotheses, pilot: Sequence[float]) -> list[_Pool]:
    mean = fmean(pilot)
    return [_Pool([score - mean + held for score in pilot]) for held in hypotheses.scores]


def _simulate(
    test: type[SequentialTest], hypotheses: Hypotheses, pool: _Pool, holds: Verdict, most: int, chance: Random
) -> SimulatedTests:
    verdicts: list[Verdict | None] = []
    pairs: list[int] = []
    while len(verdicts) < TESTS and sum(pairs) < MOST_DRAWN:
        one = test(hypotheses)
        while one.verdict is None and one.pairs < most:
            one.add(chance.choices(pool.scores, cum_weights=pool.chances)[0])
        verdicts.append(one.verdict)
        pairs.append(one.pairs)
    decided = sorted(count for count, verdict in zip(pairs, verdicts, strict=True) if verdict is not None)
    tests = len(verdicts)

    def by_then(share: float) -> int | None:
        needed = math.ceil(share * tests)
        return decided[needed - 1] if needed <= len(decided) else None

    return SimulatedTests(
        tests=tests,
        errors=(len(decided) - verdicts.count(holds)) / tests,
        undecided=verdicts.count(None) / tests,
        median=by_then(0.5),
        percentile_90=by_then(0.9),
    )
