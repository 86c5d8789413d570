"""Estimates of strengths from pair scores, if play is strength plus normal noise (L. L. Thurstone, 1927, case V)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist, fmean

_NORMAL = NormalDist()
"""The standard normal distribution."""
_MAX_ITERATIONS = 200
"""Maximum number of iterations over all strengths."""
_TOLERANCE = 1e-9
"""The iteration ends when every strength changes by less than this amount."""
_MAX_STEP = 0.5
"""Maximum change of a strength in an iteration."""


def estimate_strengths(scores: Mapping[tuple[int, int], Sequence[float]], players: int) -> list[float]:
    """Return the maximum-likelihood strength of each player. The strengths are centred on 0.

    The expected score of one player against another is the normal distribution function at the difference of their
    strengths. `scores` belong to the first player of a pair, from 0 to 1, or slightly beyond if adjusted for luck; each
    pair occurs once. Mean scores are kept 1 / (4 · number of scores) away from 0 and 1, so that strengths are finite.
    """
    share: dict[tuple[int, int], float] = {}
    for (one, other), found in scores.items():
        least = 1 / (4 * len(found))
        share[one, other] = min(max(fmean(found), least), 1 - least)
        share[other, one] = 1 - share[one, other]
    strength = [0.0] * players
    for _ in range(_MAX_ITERATIONS):
        longest = 0.0
        for one in range(players):  # Fisher scoring, one player at a time
            slope = information = 0.0
            for other in range(players):
                if one == other:
                    continue
                expected = min(max(_NORMAL.cdf(strength[one] - strength[other]), 1e-9), 1 - 1e-9)
                density = _NORMAL.pdf(strength[one] - strength[other])
                slope += density * (share[one, other] - expected) / (expected * (1 - expected))
                information += density * density / (expected * (1 - expected))
            step = max(-_MAX_STEP, min(_MAX_STEP, slope / (information + 1e-6)))
            strength[one] += step
            longest = max(longest, abs(step))
        if longest < _TOLERANCE:
            break
    middle = fmean(strength)
    return [each - middle for each in strength]
