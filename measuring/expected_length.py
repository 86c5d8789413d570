"""Forecasts of a sequential test's number of games, from its hypotheses and the variance of scores of equal bots."""

from __future__ import annotations

from typing import NamedTuple

from measuring.normalised_elo import NORMALISED_ELO_SCALE
from measuring.sequential import Hypotheses


class ExpectedLength(NamedTuple):
    """The expected number of games of a test. `decided` is the larger of the numbers under h0 and under h1. `between`
    is the number if the truth lies half way between h0 and h1.
    """

    decided: float
    between: float


def variance_of_equal_bots(seats: int, own_seats: int = 1) -> float:
    """Return the variance of a side's score in one match if all seat orders are equally likely.

    The side has `own_seats` of `seats` seats. Consider all pairs of one of its seats and one other seat. The score is
    the share of them in which the side's seat is ahead. With k own and m other seats, its variance is that of the
    Mann-Whitney U / (k m). Source: H. B. Mann, D. R. Whitney, On a test of whether one of two random variables is
    stochastically larger than the other (1947).
    """
    return (seats + 1) / (12 * own_seats * (seats - own_seats))


def expected_length(hypotheses: Hypotheses, variance: float) -> ExpectedLength:
    """Return how many single games a test is expected to take if their scores have this variance. If each start
    position is played from every seat, the test takes fewer games.

    Source: A. Wald, Sequential Analysis (1947), 3.5 and A.3, for normal scores.
    """
    if hypotheses.unit == "nelo":
        step = ((hypotheses.h1 - hypotheses.h0) / NORMALISED_ELO_SCALE) ** 2
    else:
        low, high = hypotheses.scores
        step = (high - low) ** 2 / variance
    alpha, beta, lower, upper = hypotheses.alpha, hypotheses.beta, hypotheses.lower, hypotheses.upper
    at_h0 = -((1 - alpha) * lower + alpha * upper)
    at_h1 = (1 - beta) * upper + beta * lower
    return ExpectedLength(2 * max(at_h0, at_h1) / step, -lower * upper / step)
