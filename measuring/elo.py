"""Conversion of scores to Elo differences: logistic Elo, as in ratings, and normalised Elo, which determines how many
games are needed to show a difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, pvariance

from msgspec import Struct

from measuring.scores import Z95, Estimate, count_moments

NORMALISED_ELO_SCALE = 800 / math.log(10)
"""The normalised Elo of a mean score that exceeds one half by one standard deviation of a single game."""


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


def normalised_elo(pair_means: Sequence[float]) -> EloDifference | None:
    """Return normalised Elo from the mean scores of pairs, without luck adjustment.

    It is None for fewer than two pairs, or if all pairs are equal. Normalised Elo is the excess of the mean over one
    half, in standard deviations of a game. The standard deviation of a game is that of a pair times the root of two.
    Its scale equals logistic Elo for games that are never drawn and nearly balanced. Source: M. Van den Bergh,
    Normalized Elo (2021).
    """
    return (
        _normalised_elo(len(pair_means), fmean(pair_means), pvariance(pair_means), 2) if len(pair_means) > 1 else None
    )


def normalised_elo_of_counts(counts: Sequence[int]) -> EloDifference | None:
    """Return normalised Elo from counts of scores, which `count_moments` describes."""
    if sum(counts) < 2:
        return None
    mean, square = count_moments(counts)
    return _normalised_elo(sum(counts), mean, square, (len(counts) - 1) // 2)


def _normalised_elo(units: int, mean: float, variance: float, games_per_unit: int) -> EloDifference | None:
    """Return normalised Elo from the mean and variance of the scores of units of `games_per_unit` games each."""
    if not (spread := math.sqrt(games_per_unit * variance)):
        return None
    elo = NORMALISED_ELO_SCALE * (mean - 0.5) / spread
    error = Z95 * NORMALISED_ELO_SCALE / math.sqrt(games_per_unit * units)
    return EloDifference(elo=elo, low=elo - error, high=elo + error)
