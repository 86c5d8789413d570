"""Scores told as differences of Elo: logistic ones, as ratings have them, and normalised ones, as effort has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, pvariance

from msgspec import Struct

from measuring.scores import Z95, Estimate, count_moments

NORMALISED = 800 / math.log(10)
"""Normalised Elo of a mean one standard deviation of a game above one half."""


class EloDifference(Struct, frozen=True, kw_only=True):
    """A difference of Elo with its 95 % interval; None where it would be infinite: at scores of 0 and 1 and beyond."""

    elo: float | None
    low: float | None
    high: float | None


class Comparison(Struct, frozen=True, kw_only=True):
    """A side's score against one other with its 95 % interval, how likely it is the better one, and that as Elo."""

    score: float
    low: float
    high: float
    superiority: float
    elo: EloDifference


def elo_of(score: float) -> float | None:
    """The difference at which this share of the points is expected; None for a share that none gives.

    Source: A. E. Elo, The Rating of Chessplayers (1978), with the logistic curve.
    """
    return 400 * math.log10(score / (1 - score)) if 0 < score < 1 else None


def score_of(elo: float) -> float:
    """The share of the points that is expected at a difference of Elo."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_difference(score: Estimate) -> EloDifference:
    """The difference between a side and its opponent, from a score or an adjusted score."""
    return EloDifference(elo=elo_of(score.mean), low=elo_of(score.low), high=elo_of(score.high))


def compare_scores(score: Estimate) -> Comparison:
    """A score, or an adjusted score, against one other side."""
    return Comparison(
        score=score.mean,
        low=score.low,
        high=score.high,
        superiority=score.superiority,
        elo=elo_difference(score),
    )


def normalised_elo(pairs: Sequence[float]) -> EloDifference | None:
    """Normalised Elo from the mean scores of pairs, luck left in; None for fewer than two, or where all are equal.

    It is the mean above one half in standard deviations of a game, a pair's times the root of two, on a scale where
    games that are never drawn and little one-sided have as much logistic Elo. Source: M. Van den Bergh, Normalized Elo
    (2021).
    """
    return _normalised(len(pairs), fmean(pairs), pvariance(pairs), 2) if len(pairs) > 1 else None


def normalised_elo_of_counts(counts: Sequence[int]) -> EloDifference | None:
    """The same from counts of scores, as `count_moments` takes them."""
    if sum(counts) < 2:
        return None
    mean, square = count_moments(counts)
    return _normalised(sum(counts), mean, square, (len(counts) - 1) // 2)


def _normalised(units: int, mean: float, square: float, games: int) -> EloDifference | None:
    """From the mean and the variance of the scores of units of so many games."""
    if not (spread := math.sqrt(games * square)):
        return None
    elo = NORMALISED * (mean - 0.5) / spread
    error = Z95 * NORMALISED / math.sqrt(games * units)
    return EloDifference(elo=elo, low=elo - error, high=elo + error)
