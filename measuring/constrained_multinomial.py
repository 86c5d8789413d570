"""Maximum likelihood of a multinomial distribution under a constraint on its mean or its normalised mean.

The normalised mean is the distance from a centre in standard deviations. Source: M. Van den Bergh, Comments on
Normalized Elo (2021), and A. B. Owen, Empirical Likelihood (2001), 2.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_STEPS = 100
_CLOSE = 1e-12
_MAX_SINGLE_PEAK = 0.25
"""Deviations up to which random counts had a single peak, if none had more than `_MAX_SHARE` of the total."""
_MAX_SHARE = 0.9
_CELLS = 64
"""Grid cells in which to search for further peaks, between two bounds of the standard deviation."""
_HALVINGS = 50


def with_mean(values: Sequence[float], counts: Sequence[float], mean: float) -> list[float]:
    """Return the maximum-likelihood probabilities of the values that have this mean.

    Counts are above 0; the mean lies between the smallest and the largest value.
    """
    return _balanced([value - mean for value in values], counts)


def with_deviations(values: Sequence[float], counts: Sequence[float], centre: float, deviations: float) -> list[float]:
    """Return the maximum-likelihood probabilities whose mean is `deviations` standard deviations above `centre`.

    Values ascend, some above the centre and some below.
    """
    if deviations < 0:
        mirrored = [2 * centre - value for value in reversed(values)]
        return with_deviations(mirrored, counts[::-1], centre, -deviations)[::-1]
    if not deviations:
        return with_mean(values, counts, centre)
    found = [_nearby(values, counts, centre, deviations)]
    if deviations > _MAX_SINGLE_PEAK or max(counts) > _MAX_SHARE * sum(counts):
        found += _peaks(values, counts, centre, deviations)
    return max(found, key=lambda chances: _log_likelihood(counts, chances))


def _log_likelihood(counts: Sequence[float], chances: Sequence[float]) -> float:
    return sum(count * math.log(chance) for count, chance in zip(counts, chances, strict=True))


def _terms(values: Sequence[float], centre: float, deviations: float, mean: float, spread: float) -> list[float]:
    """Return a term for each value: to first order around a distribution, the constraint says that their mean is 0."""
    return [value - centre - deviations / 2 * (spread + (value - mean) ** 2 / spread) for value in values]


def _moments(values: Sequence[float], chances: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation."""
    mean = sum(chance * value for chance, value in zip(chances, values, strict=True))
    return mean, math.sqrt(sum(chance * (value - mean) ** 2 for chance, value in zip(chances, values, strict=True)))


def _nearby(values: Sequence[float], counts: Sequence[float], centre: float, deviations: float) -> list[float]:
    """Return a local maximum of the likelihood."""
    # The iteration starts with all weight on the centre and the largest value, where the constraint holds. Each step
    # solves the constraint linearised around the last probabilities. Terms of both signs remain: the standard deviation
    # is concave in the probabilities, so its tangent lies above it.
    weight = deviations**2 / (1 + deviations**2)
    aside = values[-1] - centre
    mean, spread = centre + weight * aside, aside * math.sqrt(weight * (1 - weight))
    if not spread:
        return with_mean(values, counts, centre)
    chances = [0.0] * len(values)
    for _ in range(_STEPS):
        last, chances = chances, _balanced(_terms(values, centre, deviations, mean, spread), counts)
        mean, spread = _moments(values, chances)
        if max(abs(one - other) for one, other in zip(last, chances, strict=True)) < _CLOSE:
            break
    return chances


def _peaks(values: Sequence[float], counts: Sequence[float], centre: float, deviations: float) -> list[list[float]]:
    """Return all local maxima of the likelihood: candidates, one for each standard deviation, of the right mean."""
    root = math.sqrt(1 + deviations**2)
    # For each value above the centre, its term is positive between these bounds; at least one term must be.
    bounds = [
        ((value - centre) * deviations / (root * (root + 1)), (value - centre) * deviations / (root * (root - 1)))
        for value in values
        if value > centre
    ]
    edges = sorted({edge for pair in bounds for edge in pair})
    found = []
    for low, high in pairwise(edges):
        shares = [(1 - math.cos(math.pi * at / _CELLS)) / 2 for at in range(1, _CELLS)]
        spreads = [low * (high / low) ** share for share in shares]
        tried = [(spread, _candidate(values, counts, centre, deviations, spread)) for spread in spreads]
        for (lower, one), (upper, other) in pairwise(tried):
            if one is None or other is None or (one.excess > 0) == (other.excess > 0):
                continue
            peak = _bisected(values, counts, centre, deviations, (lower, upper), one)
            found.append(peak.chances)
    return found


class _Candidate(NamedTuple):
    """Probabilities, and by how much their mean exceeds the required one."""

    chances: list[float]
    excess: float


def _candidate(
    values: Sequence[float], counts: Sequence[float], centre: float, deviations: float, spread: float
) -> _Candidate | None:
    """Return the only possible peak with this standard deviation, or None if there is none."""
    mean = centre + deviations * spread
    terms = _terms(values, centre, deviations, mean, spread)
    if not min(terms) < 0 < max(terms):
        return None
    chances = _balanced(terms, counts)
    return _Candidate(chances, _moments(values, chances)[0] - mean)


def _bisected(
    values: Sequence[float],
    counts: Sequence[float],
    centre: float,
    deviations: float,
    bounds: tuple[float, float],
    first: _Candidate,
) -> _Candidate:
    """Return the candidate between two standard deviations whose mean is right; `first` belongs to the lower one."""
    low, high = bounds
    best = first
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        between = _candidate(values, counts, centre, deviations, middle)
        if between is not None and (between.excess > 0) == (first.excess > 0):
            low, best = middle, between
        else:
            high = middle
    return best


def _balanced(terms: Sequence[float], counts: Sequence[float]) -> list[float]:
    """Return the maximum-likelihood probabilities under which the terms, some below 0 and some above, have mean 0.

    They are count / total / (1 + x * term). If most counts are on one side, x is close to a zero of one of these
    divisors, and 1 + x * term is lost in rounding. The solver therefore looks for that divisor instead of x: all other
    divisors are sums of non-negative numbers.
    """
    total, heavier = sum(counts), sum(count * term for term, count in zip(terms, counts, strict=True))
    if not heavier:
        return [count / total for count in counts]
    end = min(terms) if heavier > 0 else max(terms)
    shares = [term / end for term in terms]
    least = _least_divisor(shares, counts)
    return [count / total / _divisor(share, least) for share, count in zip(shares, counts, strict=True)]


def _divisor(share: float, least: float) -> float:
    """Return the divisor of a term, given its ratio to the end term: `least` for the end term, 1 for a term of 0."""
    return (1 - share) + least * share if share > 0 else 1 - share * (1 - least)


def _least_divisor(shares: Sequence[float], counts: Sequence[float]) -> float:
    """Find the divisor of the end term for which the terms have mean 0, by Newton's steps between closing bounds."""
    against = sum(-share * count for share, count in zip(shares, counts, strict=True) if share < 0)
    low, high = min(1.0, counts[shares.index(1.0)] / against), 1.0
    least = math.sqrt(low * high)
    for _ in range(_STEPS):
        mean = slope = 0.0
        for share, count in zip(shares, counts, strict=True):
            part = share / _divisor(share, least)
            mean += count * part
            slope -= count * part * part
        low, high = (least, high) if mean > 0 else (low, least)
        after = least * math.exp(-mean / (slope * least)) if abs(mean) < abs(slope * least) else 0.0
        if not low < after < high:
            after = math.sqrt(low * high)
        if abs(after - least) <= _CLOSE * least:
            break
        least = after
    return least


def multiplier(terms: Sequence[float], counts: Sequence[float]) -> float:
    """Return the x for which count / total / (1 + x * term) are the maximum-likelihood probabilities with mean term 0.

    Some terms are below 0 and some above. The mean decreases between the two x at which a probability becomes infinite,
    so Newton's steps stay between bounds that close in. numba can compile the function unchanged.
    """
    low, high = -1 / max(terms), -1 / min(terms)
    x = 0.0
    for _ in range(_STEPS):
        mean = slope = 0.0
        for at, term in enumerate(terms):
            part = term / (1 + x * term)
            mean += counts[at] * part
            slope -= counts[at] * part * part
        low, high = (x, high) if mean > 0 else (low, x)
        step = x - mean / slope
        after = step if low < step < high else (low + high) / 2
        if abs(after - x) <= _CLOSE * max(1.0, abs(x)):
            break
        x = after
    return x
