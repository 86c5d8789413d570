"""Conversion of scores to normalised Elo, which determines how many games are needed to show a difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, pvariance

from measuring.elo import EloDifference
from measuring.scores import Z95, count_moments

NORMALISED_ELO_SCALE = 800 / math.log(10)
"""The normalised Elo of a mean score that exceeds one half by one standard deviation of a single game."""


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
