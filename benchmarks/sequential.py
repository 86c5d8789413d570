"""How often sequential tests err: many tests of pairs with a known mean, at h0 and at h1, of results and less luck.

    python benchmarks/sequential.py --tests 10000

Each line is a kind of pairs, moved to the mean in question. `errors` are the tests that accepted the other hypothesis:
at most alpha and beta are wanted, 0.05 each. `games` are the mean number until a verdict.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from random import Random
from statistics import fmean
from typing import NamedTuple

from measuring.sequential import Hypotheses, Pentanomial, RealValued, SequentialTest

Draw = Callable[[Random, float], float]
"""A pair's mean score, with this expectation."""


class Kind(NamedTuple):
    """What is tested: pairs of a kind, and the h1 that makes it a test of some hundred pairs."""

    name: str
    test: type[SequentialTest]
    h1: float
    draw: Draw


def results(seat_0: float, seat_1: float, drawn: float = 0.0) -> Draw:
    """Pairs of which a side wins so much from either seat at equal strength; so many games are drawn."""

    def draw(chance: Random, mean: float) -> float:
        edge = mean - 0.5
        return sum(_result(chance, win + edge, drawn) for win in (seat_0, seat_1)) / 2

    return draw


def _result(chance: Random, expected: float, drawn: float) -> float:
    if chance.random() < drawn:
        return 0.5
    return float(chance.random() < (expected - drawn / 2) / (1 - drawn))


def normal(spread: float) -> Draw:
    return lambda chance, mean: chance.gauss(mean, spread)


def heavy_tails(spread: float) -> Draw:
    """Student's distribution with three degrees of freedom."""

    def draw(chance: Random, mean: float) -> float:
        scale = math.sqrt(sum(chance.gauss(0, 1) ** 2 for _ in range(3)))
        return mean + spread * chance.gauss(0, 1) / scale

    return draw


def skewed(spread: float) -> Draw:
    """Mostly a little more than the mean, at times much less: exponential, downwards if `spread` is positive."""
    return lambda chance, mean: mean + spread - spread * chance.expovariate(1)


def blunders(often: float, spread: float) -> Draw:
    """Nearly even, and now and then half a point lost in a game, by either side as often as the mean wants."""

    def draw(chance: Random, mean: float) -> float:
        edge = 4 * (mean - 0.5)
        lost = chance.random()
        gained = 0.25 if lost < often / 2 + edge / 2 else -0.25 if lost < often else 0.0
        return 0.5 + gained + chance.gauss(0, spread)

    return draw


KINDS = [
    Kind("results, the dice decide", Pentanomial, 0.1, results(0.5, 0.5)),
    Kind("results, the seat decides nine of ten", Pentanomial, 0.05, results(0.9, 0.1)),
    Kind("results, half drawn", Pentanomial, 0.05, results(0.55, 0.45, 0.5)),
    Kind("results, nine of ten drawn", Pentanomial, 0.02, results(0.5, 0.5, 0.9)),
    Kind("adjusted, normal, 0.03", RealValued, 0.01, normal(0.03)),
    Kind("adjusted, normal, 0.1", RealValued, 0.02, normal(0.1)),
    Kind("adjusted, normal, 0.3", RealValued, 0.05, normal(0.3)),
    Kind("adjusted, skewed down, 0.03", RealValued, 0.01, skewed(0.03)),
    Kind("adjusted, skewed up, 0.03", RealValued, 0.01, skewed(-0.03)),
    Kind("adjusted, skewed down, 0.2", RealValued, 0.04, skewed(0.2)),
    Kind("adjusted, skewed up, 0.2", RealValued, 0.04, skewed(-0.2)),
    Kind("adjusted, heavy tails, 0.1", RealValued, 0.03, heavy_tails(0.1)),
    Kind("adjusted, heavy tails, 0.3", RealValued, 0.07, heavy_tails(0.3)),
    Kind("adjusted, half a point lost in 5 pairs", RealValued, 0.03, blunders(0.2, 0.03)),
    Kind("adjusted, half a point lost in 10 pairs", RealValued, 0.02, blunders(0.1, 0.03)),
    Kind("adjusted, half a point lost in 20 pairs", RealValued, 0.01, blunders(0.05, 0.03)),
]


class Found(NamedTuple):
    """Of many tests: what share accepted the hypothesis that does not hold, and how many games one took."""

    errors: float
    games: float


def tested(kind: Kind, holds: str, tests: int, seed: str) -> Found:
    """Test pairs of a kind so many times, where h0 or h1 holds."""
    hypotheses = Hypotheses(h1=kind.h1)
    mean = hypotheses.scores[holds == "h1"]
    chance = Random(f"{seed}/{kind.name}/{holds}")
    errors, games = 0, []
    for _ in range(tests):
        test = kind.test(hypotheses)
        while test.verdict is None:
            test.add(kind.draw(chance, mean))
        errors += test.verdict != holds
        games.append(2 * test.pairs)
    return Found(errors / tests, fmean(games))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tests", type=int, default=10_000, help="how many at each hypothesis")
    parser.add_argument("--seed", default="", help="the same gives the same")
    parser.add_argument("--only", default="", help="kinds with this in their names")
    options = parser.parse_args()
    print(f"{'pairs':<40} {'h1':>5}  {'at h0: errors':>13} {'games':>6}  {'at h1: errors':>13} {'games':>6}")
    for kind in KINDS:
        if options.only in kind.name:
            null, other = (tested(kind, holds, options.tests, options.seed) for holds in ("h0", "h1"))
            told = f"{null.errors:>13.4f} {null.games:>6.0f}  {other.errors:>13.4f} {other.games:>6.0f}"
            print(f"{kind.name:<40} {kind.h1:>5.2f}  {told}", flush=True)


if __name__ == "__main__":
    main()
