"""How many games a sequential test takes, before any is played: from its hypotheses and how results of equal bots vary.
Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from measuring.elo import NORMALISED
from measuring.sequential import Hypotheses


class ExpectedLength(NamedTuple):
    """The mean number of games: `decided` where h0 or h1 holds, whichever takes longer, `between` half way."""

    decided: float
    between: float


def equal_variance(seats: int, own: int = 1) -> float:
    """Of what a side in `own` of `seats` scores in a match, where every order of the seats is as likely: the share of
    the pairs, one of its seats and one of the others, of which it is ahead.

    It is that of U / (k m). Source: H. B. Mann, D. R. Whitney, On a test of whether one of two random variables is
    stochastically larger than the other (1947).
    """
    return (seats + 1) / (12 * own * (seats - own))


def expected_length(hypotheses: Hypotheses, variance: float) -> ExpectedLength:
    """For games of this variance, counted one by one: starts that are played from every seat take fewer.

    Source: A. Wald, Sequential Analysis (1947), 3.5 and A.3, for normal scores.
    """
    if hypotheses.unit == "nelo":
        step = ((hypotheses.h1 - hypotheses.h0) / NORMALISED) ** 2
    else:
        low, high = hypotheses.scores
        step = (high - low) ** 2 / variance
    alpha, beta, lower, upper = hypotheses.alpha, hypotheses.beta, hypotheses.lower, hypotheses.upper
    at_h0 = -((1 - alpha) * lower + alpha * upper)
    at_h1 = (1 - beta) * upper + beta * lower
    return ExpectedLength(2 * max(at_h0, at_h1) / step, -lower * upper / step)
