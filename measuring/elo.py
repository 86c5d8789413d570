"""Conversion of scores to logistic Elo differences, as in ratings. normalised_elo.py has normalised Elo."""

from __future__ import annotations

import math

from msgspec import Struct

from measuring.scores import Estimate


class EloDifference(Struct, frozen=True, kw_only=True):
    """An Elo difference with its 95 % interval. None means infinite, for a score of at most 0 or at least 1."""

    elo: float | None
    low: float | None
    high: float | None


class Comparison(Struct, frozen=True, kw_only=True):
    """A side's score against one opponent with its 95 % interval, the score and the interval as Elo, and the side's
    likelihood of superiority.
    """

    score: float
    low: float
    high: float
    superiority: float
    elo: EloDifference


def elo_of(score: float) -> float | None:
    """Return the Elo difference at which this score is expected; None if there is no such difference.

    Source: A. E. Elo, The Rating of Chessplayers (1978), with the logistic curve.
    """
    return 400 * math.log10(score / (1 - score)) if 0 < score < 1 else None


def score_of(elo: float) -> float:
    """Return the expected score, from 0 to 1, at an Elo difference."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_difference(estimate: Estimate) -> EloDifference:
    """Convert a side's score or adjusted score, with its interval, to the Elo difference from its opponent."""
    return EloDifference(elo=elo_of(estimate.mean), low=elo_of(estimate.low), high=elo_of(estimate.high))


def compare_scores(estimate: Estimate) -> Comparison:
    """Return how a side compares with an opponent, from the side's score or adjusted score against the opponent."""
    return Comparison(
        score=estimate.mean,
        low=estimate.low,
        high=estimate.high,
        superiority=estimate.superiority,
        elo=elo_difference(estimate),
    )
