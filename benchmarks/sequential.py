"""Measure the error rates of sequential tests and confidence sequences, by many simulated tests at h0 and at h1.

    python benchmarks/sequential.py
    python benchmarks/sequential.py --only "a game lost"
    python benchmarks/sequential.py --pairs FILE --h1 0.02

Each line is a kind of pairs of games, with the mean score of h0 or h1. `errors` is the fraction of tests that accepted
the wrong hypothesis. It should not exceed alpha or beta, which are 0.05. `games` is the mean number of games until a
verdict. `left` is the fraction of tests in which the true mean was outside the confidence sequence after any of 1,000
pairs. It should not exceed 0.05.

The last kinds (`--only assumed:`) violate the methods' assumptions. They show the errors if pairs leave the range from
0 to 1, depend on each other, or drift.

A file for `--pairs` has the mean score of a pair on each line, raw or adjusted for luck. It is sampled with
replacement. Loops are compiled if numba is installed (the extra `fast`); they use the functions of the tests
themselves.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from machine.compiled import compiled
from measuring.confidence_sequence import BET_FRACTIONS, bets, log_capital
from measuring.constrained_multinomial import fit_mean, solve_multiplier
from measuring.pair_scores import MIN_UNITS
from measuring.sequential import (
    LOG_LIKELIHOOD_GAIN,
    UNSEEN_COUNT,
    Hypotheses,
    Pentanomial,
    RealValued,
    SequentialTest,
    max_empirical_llr,
    mean_llr,
    normal_llr,
)

Scores = NDArray[numpy.float64]
DrawScores = Callable[[numpy.random.Generator, int, float], Scores]
"""The type of a function that draws mean scores of pairs. It takes a generator, the number of pairs, and the mean."""

DRIFT_PERIOD_PAIRS = 1024
"""The number of pairs over which the mean drifts before it jumps back. It is twice `FIRST_PAIRS`."""
FIRST_PAIRS = 512
"""Number of pairs that are first drawn for a test. It is doubled as long as there is no verdict."""
COMPARED_TESTS = 5
"""Number of tests at each hypothesis that are repeated with the product's own test classes, to compare the verdicts."""
SEQUENCE_PAIRS = 1000
"""Number of pairs over which each simulated confidence sequence is checked."""


class Kind(NamedTuple):
    """A kind of pairs of games: `draw` draws their scores, `test` is the class of the test that gets these scores, and
    `h1` is its alternative hypothesis. At this `h1`, a test takes some hundred pairs.
    """

    name: str
    test: type[SequentialTest]
    h1: float
    draw: DrawScores


def draw_results(seat_0: float, seat_1: float, drawn: float = 0.0) -> DrawScores:
    """Return a function that draws the scores of pairs of games that are won, drawn or lost. `seat_0` and `seat_1` are
    a bot's mean scores on these seats if the requested mean is 0.5. For another mean, both are shifted by the
    difference. The fraction `drawn` of all games is drawn.
    """

    def draw(chance: numpy.random.Generator, pairs: int, mean: float) -> Scores:
        games = []
        for win in (seat_0, seat_1):
            won = chance.random(pairs) < (win + mean - 0.5 - drawn / 2) / (1 - drawn)
            games.append(numpy.where(chance.random(pairs) < drawn, 0.5, won))
        return (games[0] + games[1]) / 2

    return draw


def draw_normal(spread: float) -> DrawScores:
    return lambda chance, pairs, mean: chance.normal(mean, spread, pairs)


def draw_heavy_tails(spread: float) -> DrawScores:
    """Return a function that draws scores from Student's t distribution with three degrees of freedom."""

    def draw(chance: numpy.random.Generator, pairs: int, mean: float) -> Scores:
        return mean + spread * chance.standard_t(3, pairs) / math.sqrt(3)

    return draw


def draw_skewed(spread: float) -> DrawScores:
    """Return a function that draws exponentially distributed scores. Most are just above the mean, and a few are far
    below it. If `spread` is negative, most are just below the mean, and a few far above it.
    """
    return lambda chance, pairs, mean: mean + spread - spread * chance.exponential(1, pairs)


def draw_blunders(pairs_in_one: int, spread: float, turned: float) -> DrawScores:
    """Return a function that draws scores of pairs. Most are near 0.5, but one in `pairs_in_one` is turned by a
    blunder: it is `turned` higher or lower. The requested mean determines how many of these are higher.
    """

    def draw(chance: numpy.random.Generator, pairs: int, mean: float) -> Scores:
        often, edge = 1 / pairs_in_one, (mean - 0.5) / turned
        lost = chance.random(pairs)
        gained = numpy.where(lost < (often + edge) / 2, turned, numpy.where(lost < often, -turned, 0.0))
        return 0.5 + gained + chance.normal(0, spread, pairs)

    return draw


def draw_mistakes(pairs_in_one: int, spread: float, lost: float) -> DrawScores:
    """Return a function that draws scores of pairs. Most are slightly above the requested mean, but in one pair of
    `pairs_in_one` a mistake costs `lost` points. If `lost` is negative, that pair gains points, and most scores are
    slightly below the mean.
    """

    def draw(chance: numpy.random.Generator, pairs: int, mean: float) -> Scores:
        missed = numpy.where(chance.random(pairs) < 1 / pairs_in_one, lost, 0.0)
        return mean + lost / pairs_in_one - missed + chance.normal(0, spread, pairs)

    return draw


def draw_dependent(share: float, spread: float) -> DrawScores:
    """Return a function that draws normal scores, each dependent on the score before, as with bots that learn."""

    def draw(chance: numpy.random.Generator, pairs: int, mean: float) -> Scores:
        off = chance.normal(0, spread, pairs)
        for at in range(1, pairs):
            off[at] = share * off[at - 1] + math.sqrt(1 - share**2) * off[at]
        return mean + off

    return draw


def draw_drifting(way: float, spread: float) -> DrawScores:
    """Return a function that draws normally distributed scores with a drifting mean. The mean falls from `way` above
    the requested mean to `way` below it within `DRIFT_PERIOD_PAIRS` pairs, as if the opponent learned. Then it jumps
    back up and falls again.
    """

    def draw(chance: numpy.random.Generator, pairs: int, mean: float) -> Scores:
        passed = numpy.arange(pairs) % DRIFT_PERIOD_PAIRS / DRIFT_PERIOD_PAIRS
        return mean + way * (1 - 2 * passed) + chance.normal(0, spread, pairs)

    return draw


def draw_from_file(scores: Scores, *, raw: bool) -> DrawScores:
    """Return a function that takes a mean, and draws scores with this mean from those of a file. `raw` scores have no
    luck adjustment. They are drawn with their maximum-likelihood probabilities under this mean. Adjusted scores are all
    shifted by the same amount.
    """

    def draw(chance: numpy.random.Generator, pairs: int, mean: float) -> Scores:
        if raw:
            values, counts = numpy.unique(scores, return_counts=True)
            drawn = chance.choice(values, pairs, p=fit_mean(values.tolist(), counts.tolist(), mean))
        else:
            drawn = chance.choice(scores, pairs) + (mean - scores.mean())
        return numpy.asarray(drawn)

    return draw


def _lost_game_kinds() -> list[Kind]:
    """Return kinds of pairs of games with luck-adjusted scores. In 1 of N pairs, a blunder decides one game. The bot
    loses all these games in some kinds, wins them all in others, and in the rest loses or wins each at random.
    """
    kinds = []
    for h1, rare in ((0.02, (10, 15, 20, 30, 50, 80)), (0.01, (20, 50, 100)), (0.05, (10, 15))):
        kinds += [
            Kind(f"adjusted, a game lost in 1 of {pairs}", RealValued, h1, draw_mistakes(pairs, 0.02, 0.5))
            for pairs in rare
        ]
    kinds += [
        Kind(f"adjusted, a game won in 1 of {pairs}", RealValued, 0.02, draw_mistakes(pairs, 0.02, -0.5))
        for pairs in (15, 30)
    ]
    kinds += [
        Kind(f"adjusted, a game turned in 1 of {pairs}", RealValued, 0.02, draw_blunders(pairs, 0.02, 0.5))
        for pairs in (5, 10, 15, 20)
    ]
    return kinds


KINDS = [
    Kind("results, the dice decide", Pentanomial, 0.1, draw_results(0.5, 0.5)),
    Kind("results, the seat decides nine of ten", Pentanomial, 0.05, draw_results(0.9, 0.1)),
    Kind("results, half drawn", Pentanomial, 0.05, draw_results(0.55, 0.45, 0.5)),
    Kind("results, nine of ten drawn", Pentanomial, 0.02, draw_results(0.5, 0.5, 0.9)),
    Kind("adjusted, normal, 0.03", RealValued, 0.01, draw_normal(0.03)),
    Kind("adjusted, normal, 0.1", RealValued, 0.02, draw_normal(0.1)),
    Kind("adjusted, normal, 0.3", RealValued, 0.05, draw_normal(0.3)),
    Kind("adjusted, skewed down, 0.03", RealValued, 0.01, draw_skewed(0.03)),
    Kind("adjusted, skewed up, 0.03", RealValued, 0.01, draw_skewed(-0.03)),
    Kind("adjusted, skewed down, 0.2", RealValued, 0.04, draw_skewed(0.2)),
    Kind("adjusted, skewed up, 0.2", RealValued, 0.04, draw_skewed(-0.2)),
    Kind("adjusted, heavy tails, 0.1", RealValued, 0.03, draw_heavy_tails(0.1)),
    Kind("adjusted, heavy tails, 0.3", RealValued, 0.07, draw_heavy_tails(0.3)),
    Kind("adjusted, half a game turned in 1 of 5", RealValued, 0.03, draw_blunders(5, 0.03, 0.25)),
    Kind("adjusted, half a game turned in 1 of 10", RealValued, 0.02, draw_blunders(10, 0.03, 0.25)),
    Kind("adjusted, half a game turned in 1 of 20", RealValued, 0.01, draw_blunders(20, 0.03, 0.25)),
    *_lost_game_kinds(),
    Kind("assumed: a point lost in 1 of 50", RealValued, 0.02, draw_mistakes(50, 0.005, 1.0)),
    Kind("assumed: 1.5 points lost in 1 of 75", RealValued, 0.02, draw_mistakes(75, 0.005, 1.5)),
    Kind("assumed: normal, 1.0", RealValued, 0.2, draw_normal(1.0)),
    Kind("assumed: 0.3 of the pair before", RealValued, 0.02, draw_dependent(0.3, 0.1)),
    Kind("assumed: drifts from 0.02 up to down", RealValued, 0.02, draw_drifting(0.02, 0.1)),
]
"""All kinds of pairs to simulate. The last ones, named `assumed: …`, violate assumptions of the methods."""

_Loop = Callable[..., Any]  # arrays here, lists in the tests
_solve: _Loop = compiled(solve_multiplier)
_mean_llr: _Loop = compiled(mean_llr)
_normal_llr: _Loop = compiled(normal_llr)
_most_llr: _Loop = compiled(max_empirical_llr)
_bets: _Loop = compiled(bets)
_log_capital: _Loop = compiled(log_capital)


@compiled
def _decide_adjusted(scores: Scores, null: float, other: float, bound: float) -> int:
    """Return the number of pairs after which the test `RealValued` decides. It is positive if the verdict is h1,
    negative if it is h0, and 0 without a verdict.
    """
    values, counts = numpy.empty(len(scores) + 2), numpy.ones(len(scores) + 2)
    values[0], values[1], values[2:] = 0.0, 1.0, scores
    counts[:2] = UNSEEN_COUNT
    total = squares = cubes = 0.0
    for at, score in enumerate(scores):
        pairs, about = at + 1, score - 0.5
        total += about
        squares += about * about
        cubes += about * about * about
        if pairs < MIN_UNITS or _most_llr(pairs, total, null, other) < bound:
            continue
        normal = _normal_llr(pairs, total, squares, cubes, null, other)
        if abs(normal) < bound:
            continue
        mean = (0.5 * pairs + total + UNSEEN_COUNT) / (pairs + 2 * UNSEEN_COUNT)
        held = min(null, mean), max(other, mean)
        likeliest = _mean_llr(values[: pairs + 2], counts[: pairs + 2], held[0], held[1], _solve)
        if normal * likeliest > 0 and abs(likeliest) - LOG_LIKELIHOOD_GAIN >= bound:
            return pairs if normal > 0 else -pairs
    return 0


@compiled
def _decide_results(scores: Scores, null: float, other: float, bound: float) -> int:
    """Return the number of pairs after which the test `Pentanomial` decides. It is positive if the verdict is h1,
    negative if it is h0, and 0 without a verdict.
    """
    values, counts = numpy.arange(5) / 4, numpy.full(5, UNSEEN_COUNT)
    for at, score in enumerate(scores):
        which = int(4 * score)
        counts[which] = round(counts[which]) + 1.0
        ratio = _mean_llr(values, counts, null, other, _solve)
        if abs(ratio) >= bound:
            return at + 1 if ratio > 0 else -at - 1
    return 0


@compiled
def _is_ever_outside(scores: Scores, mean: float, limit: float) -> bool:
    """Return whether the true mean is ever outside the confidence sequence computed from these scores."""
    low, high, begun = 0.0, 1.0, 0
    bet, gained = _bets(mean, low, high), numpy.zeros(len(BET_FRACTIONS))
    for at, score in enumerate(scores):
        if score < low or score > high:
            low, high = min(low, score), max(high, score)
            bet, begun = _bets(mean, low, high), 0
            gained[:] = 0.0
        for again in range(begun, at + 1):
            for part, on in enumerate(bet):
                gained[part] += math.log(1 + on * (scores[again] - mean))
        begun = at + 1
        if _log_capital(gained) >= limit:
            return True
    return False


class ErrorRates(NamedTuple):
    """The results of many simulated tests: the fraction with the wrong verdict, the mean number of games, and the
    fraction in which the confidence sequence did not contain the true mean.
    """

    errors: float
    games: float
    left: float


def run_tests(kind: Kind, holds: str, tests: int, seed: str) -> ErrorRates:
    """Simulate tests on pairs of a kind. The mean score of the pairs is that of the hypothesis `holds`, which is `h0`
    or `h1`.
    """
    hypotheses = Hypotheses(h1=kind.h1)
    mean = hypotheses.scores[holds == "h1"]
    decide = _decide_results if kind.test is Pentanomial else _decide_adjusted
    chance = numpy.random.default_rng(zlib.crc32(f"{seed}/{kind.name}/{kind.h1}/{holds}".encode()))
    errors = games = left = 0
    for number in range(tests):
        scores = kind.draw(chance, FIRST_PAIRS, mean)
        while not (decided := decide(scores, *hypotheses.scores, hypotheses.upper)):
            scores = numpy.concatenate([scores, kind.draw(chance, len(scores), mean)])
        if number < COMPARED_TESTS:
            _check_against_class(kind.test(hypotheses), scores, decided)
        errors += (decided > 0) != (holds == "h1")
        games += 2 * abs(decided)
        more = kind.draw(chance, max(0, SEQUENCE_PAIRS - len(scores)), mean)
        left += _is_ever_outside(numpy.concatenate([scores, more])[:SEQUENCE_PAIRS], mean, math.log(20))
    return ErrorRates(errors / tests, games / tests, left / tests)


def _check_against_class(test: SequentialTest, scores: Scores, decided: int) -> None:
    for score in scores.tolist():
        test.add(score)
    if (test.pairs, test.verdict) != (abs(decided), "h1" if decided > 0 else "h0"):
        raise SystemExit(f"the test decides {test.verdict} after {test.pairs} pairs, the compiled one {decided}")


def read_pairs(file: Path, h1: float) -> Kind:
    """Return a kind of pairs of games whose scores are drawn from those in a file. Raise `SystemExit` if the file is
    invalid.
    """
    scores = []
    try:
        lines = file.read_text().splitlines()
    except (OSError, ValueError) as exc:
        raise SystemExit(f"{file} can't be read: {exc}") from exc
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            score = float(line)
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise SystemExit(f"{file}, line {number}: {line.strip()[:40]!r} is no score: a number like 0.75")
        scores.append(score)
    if len(scores) < MIN_UNITS:
        raise SystemExit(f"{file} has {len(scores)} pairs: {MIN_UNITS} at least")
    raw = all(4 * score in range(5) for score in scores)
    if raw and not min(scores) < 0.5 < 0.5 + h1 < max(scores):
        raise SystemExit(
            f"{file}: pairs from {min(scores):g} to {max(scores):g} can't have the means 0.5 and {0.5 + h1:g}"
        )
    test = Pentanomial if raw else RealValued
    return Kind(file.name, test, h1, draw_from_file(numpy.array(scores), raw=raw))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tests", type=int, default=10_000, help="how many at each hypothesis")
    parser.add_argument("--seed", default="", help="the same gives the same")
    parser.add_argument("--only", default="", help="kinds with this in their names")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="the pairs of a file in their place, a score a line")
    parser.add_argument("--h1", type=float, default=0.02, help="of these")
    options = parser.parse_args()
    kinds = KINDS if options.pairs is None else [read_pairs(options.pairs, options.h1)]
    print(f"{'':<46} {'at h0':>20}  {'at h1':>20}")
    print(f"{'pairs':<40} {'h1':>5}" + f"  {'errors':>6} {'games':>6} {'left':>6}" * 2)
    for kind in kinds:
        if options.only in kind.name:
            both = (run_tests(kind, holds, options.tests, options.seed) for holds in ("h0", "h1"))
            told = "".join(f"  {found.errors:>6.4f} {found.games:>6.0f} {found.left:>6.4f}" for found in both)
            print(f"{kind.name:<40} {kind.h1:>5.2f}{told}", flush=True)


if __name__ == "__main__":
    main()
