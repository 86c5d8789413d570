"""Maximum likelihood of a multinomial distribution under a constraint on its mean or its normalised mean.

The normalised mean is the distance from a centre in standard deviations. Source: M. Van den Bergh, Comments on
Normalized Elo (2021), and A. B. Owen, Empirical Likelihood (2001), 2.9.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_MAX_STEPS = 100
"""Maximum steps for one solution of `_solve_end_divisor` or `solve_multiplier`."""
_TOLERANCE = 1e-12
"""The tolerance of the equations."""
_MAX_NEWTON_STEPS = 30
"""Maximum steps of Newton's method in `_Problem.stationary`."""
_NEWTON_TOLERANCE = 1e-8
"""Maximum relative change of each divisor 1 + x * term in the last step of Newton's method. Each step doubles the
number of correct digits, so all digits are correct after it.
"""
_NEWTON_START_RATIO = 0.9
"""Maximum x at which Newton's method starts, as a fraction of the greatest possible x. The same fraction limits starts
below 0: there it refers to the least possible x.
"""
_MAX_LOG_STEP = 0.7
"""Maximum change of the logarithm of the root mean square in a step of Newton's method in `_Problem.stationary`. The
root mean square is that of the values' offsets from the centre.
"""
_MIN_DIVISOR = 1e-5
"""Minimum divisor 1 + x * term. Smaller divisors would lose too many digits by rounding."""
_GRID_CELLS = 64
"""Number of cells of a grid in which peaks of the likelihood are searched for."""
_MAX_ROOT_STEPS = 60
"""Maximum number of bisections and steps of false position in `_Problem.root`."""


def fit_mean(values: Sequence[float], counts: Sequence[float], mean: float) -> list[float]:
    """Return the probabilities of `values` with the maximum likelihood, if their mean must be `mean`. `counts` says how
    often each value occurred.

    Counts are above 0. The mean lies between the least and the greatest value.
    """
    return _balance([value - mean for value in values], counts)


def fit_normalised_mean(
    values: Sequence[float], counts: Sequence[float], centre: float, deviations: float
) -> list[float]:
    """Return the probabilities of `values` with the maximum likelihood, if their mean must be `deviations` standard
    deviations above `centre`.

    Values are in ascending order, some above the centre and some below.
    """
    if deviations < 0:
        mirrored = [2 * centre - value for value in reversed(values)]
        return fit_normalised_mean(mirrored, counts[::-1], centre, -deviations)[::-1]
    ratio = deviations / math.sqrt(1 + deviations**2)
    problem = _Problem([value - centre for value in values], counts, ratio)
    total = sum(counts)
    mean, rms = problem.moments([count / total for count in counts])
    if ratio * rms < sys.float_info.min:  # as for 0; smaller numbers have too few digits to divide by
        return fit_mean(values, counts, centre)
    known = problem.stationary(rms)
    if known is not None and (known.x >= 0 or problem.is_global(known)):
        return problem.chances(known)
    return problem.from_above(mean, rms) if mean > ratio * rms else problem.from_below(known)


class _Stationary(NamedTuple):
    """A solution of `_Problem` at which the slope of the likelihood is 0. The chance of a value is count / total / (1 +
    x * term): count is how often the value was observed, total is the sum of all counts, and term is the value's
    element of `_Problem.terms(rms)`.

    Under these chances, `rms` is the root mean square of the values' offsets from the centre.
    """

    x: float
    rms: float


class _Candidate(NamedTuple):
    """The likeliest probabilities (chances) of the values for which the mean of `_Problem.terms(rms)` is 0, for a given
    rms.

    `lost` is by how much the log likelihood of the chances is below that of the observed shares. `above` is log(r /
    rms), where r is the root mean square of the values' offsets under the chances. The chances solve the problem if
    `above` is 0.
    """

    chances: list[float]
    lost: float
    above: float


class _Problem(NamedTuple):
    """The problem to find the likeliest probabilities (chances) of values whose mean is `ratio` times their root mean
    square. Both are measured from a centre: `offsets` are the values minus the centre.

    The root mean square is a concave function of the chances, so its tangents lie above it. A tangent depends only on
    the root mean square r at the point where it touches. If the tangent replaces the root mean square, the condition is
    linear: the mean of `terms(r)` is 0. A single number x determines the likeliest chances under this linear condition.
    All solutions with the root mean square r meet the linear condition, so none is likelier than these chances.
    """

    offsets: Sequence[float]
    counts: Sequence[float]
    ratio: float

    def terms(self, rms: float) -> list[float]:
        """Return a term for each value, so that the mean of the terms is the mean of the offsets minus the required
        mean. The required mean is linear in the chances: it comes from the tangent at the root mean square `rms`.
        """
        half = self.ratio / 2
        return [offset - half * (rms + offset * offset / rms) for offset in self.offsets]

    def moments(self, chances: Sequence[float]) -> tuple[float, float]:
        """Return the mean and the root mean square of the values' offsets from the centre under these chances."""
        mean = square = 0.0
        for offset, chance in zip(self.offsets, chances, strict=True):
            mean += chance * offset
            square += chance * offset * offset
        return mean, math.sqrt(square)

    def chances(self, stationary: _Stationary) -> list[float]:
        total = sum(self.counts)
        terms = self.terms(stationary.rms)
        return [count / total / (1 + stationary.x * term) for term, count in zip(terms, self.counts, strict=True)]

    def lost(self, chances: Sequence[float]) -> float:
        total, cells = sum(self.counts), zip(self.counts, chances, strict=True)
        return sum([count * math.log(count / total / chance) for count, chance in cells])

    def least_rms(self) -> float:
        """Return a lower bound of the root mean square of the offsets under all chances that solve the problem. The
        bound is reached if only the centre and the least value above it have a chance above 0.
        """
        return self.ratio * min([offset for offset in self.offsets if offset > 0])

    def stationary(self, observed: float) -> _Stationary | None:
        """Find a solution at which the slope of the likelihood is 0, by Newton's method. The first root mean square is
        `observed`, or `least_rms` if that is greater.

        Return None if the method does not converge or if rounding would cost too many digits. The unknowns are x and
        the logarithm of the root mean square r. At the solution, the sum of count * log(1 + x * term) over all values,
        with the terms `terms(r)`, has slope 0 with respect to both unknowns.
        """
        half, rms = self.ratio / 2, max(observed, self.least_rms())
        terms = self.terms(rms)
        if not max(terms) > 0:
            return None
        x = _first_x(terms, self.counts)
        cells = [(count, offset, offset * offset) for count, offset in zip(self.counts, self.offsets, strict=True)]
        before, step, is_close = (x, rms), (0.0, 0.0), False
        for _ in range(_MAX_NEWTON_STEPS):
            plus, over = half * rms, half / rms
            by_x = by_log = by_x_twice = by_both = by_log_twice = 0.0
            least = 1.0
            for count, offset, square in cells:
                part = square * over
                term, falls = offset - plus - part, plus - part
                divisor = 1 + x * term
                if divisor < least:
                    least = divisor
                    if divisor <= 0:
                        break
                weight = count / divisor
                by_x += weight * term
                by_log -= weight * falls
                by_log_twice -= weight * (plus + part)
                weight /= divisor
                by_x_twice -= weight * term * term
                by_both -= weight * falls
                by_log_twice -= weight * x * falls * falls
            if least <= 0:  # the last step was too long
                step = step[0] / 2, step[1] / 2
                x, rms = before[0] + step[0], before[1] * math.exp(step[1])
                continue
            if is_close:
                return _Stationary(x, rms) if least > _MIN_DIVISOR else None
            by_log, by_log_twice = x * by_log, x * by_log_twice
            determinant = by_x_twice * by_log_twice - by_both * by_both
            if not determinant:
                return None
            step = (
                (by_both * by_log - by_log_twice * by_x) / determinant,
                (by_both * by_x - by_x_twice * by_log) / determinant,
            )
            if abs(step[1]) > _MAX_LOG_STEP:
                shorter = _MAX_LOG_STEP / abs(step[1])
                step = step[0] * shorter, step[1] * shorter
            elif abs(step[1]) <= _NEWTON_TOLERANCE:
                # No divisor changes by a larger share than this.
                is_close = all(
                    abs(step[0] * (offset - plus - square * over) - x * step[1] * (plus - square * over))
                    <= _NEWTON_TOLERANCE * (1 + x * (offset - plus - square * over))
                    for _, offset, square in cells
                )
            before = x, rms
            x, rms = x + step[0], rms * math.exp(step[1])
        return None

    def is_global(self, stationary: _Stationary) -> bool:
        """Return True if it is certain that no solution is likelier than this one. False means that it is not known.

        Let S(x, r) be the sum of count * log(1 + x * term) over all values, with the terms `terms(r)`. For every x,
        solutions with the root mean square r have a log likelihood at least S(x, r) below that of the observed shares.
        With the `x` of this solution, S is exactly that difference at the `rms` of this solution, and has slope 0
        there. If S is also convex in log r, it is nowhere smaller, so no other solution is likelier.
        """
        most = self.offsets[-1]
        if -stationary.x * most <= 1:
            return True  # as every summand is convex
        return self.least_curvature(stationary.x, (self.least_rms(), most)) >= 0

    def least_curvature(self, x: float, bounds: tuple[float, float]) -> float:
        """Return a lower bound of the second derivative of S(x, r) with respect to log r, for x < 0 and for all r
        between two bounds. S(x, r) is the sum of count * log(1 + x * term) over all values, with the terms `terms(r)`.
        """
        # A divisor is `fixed` plus a multiple of a hyperbolic cosine, which is between `least` and `most`.
        curvature = 0.0
        for offset, count in zip(self.offsets, self.counts, strict=True):
            fixed, away = 1 + x * offset, abs(offset)
            bottom = -x * self.ratio * away
            one, other = [-x * self.ratio / 2 * (rms + away * away / rms) for rms in bounds]
            least, most = min(one, other), max(one, other)
            if bounds[0] < away < bounds[1]:
                least = bottom
            if fixed + least <= 0:
                return -math.inf
            extremes = [least, most]
            if fixed < 0 and least < (turn := fixed - 2 * bottom * bottom / fixed) < most:
                extremes.append(turn)
            curvature += count * min([(fixed * at + bottom * bottom) / (fixed + at) ** 2 for at in extremes])
        return curvature

    def from_above(self, mean: float, rms: float) -> list[float]:
        """Return the likeliest chances if the observed mean is above the required mean.

        Chances with at most the required mean form a convex set, so the likelihood of the solutions has only one peak.
        At the peak's root mean square r, the mean of `terms(r)` under the observed shares is above 0. This mean is
        above 0 only for root mean squares between two bounds, so the peak is searched for between these bounds.
        """
        high = (mean + math.sqrt(max(0.0, mean * mean - (self.ratio * rms) ** 2))) / self.ratio
        low = rms * rms / high
        return self.root((math.log(low), math.log(rms / low)), (math.log(high), math.log(rms / high))).chances

    def from_below(self, stationary: _Stationary | None) -> list[float]:
        """Return the likeliest chances if the observed mean is below the required mean. `stationary` is a known
        solution, or None.

        The likelihood of the solutions may have several peaks; the highest counts. There is a peak in every cell of a
        grid at whose start `_Candidate.above` is positive, but not at its end.
        """
        peaks = [
            self.root(start, end)
            for bounds in self.ranges()
            for start, end in pairwise(self.grid(bounds))
            if start[1] > 0 >= end[1]
        ]
        if stationary is not None:
            chances = self.chances(stationary)
            peaks.append(_Candidate(chances, self.lost(chances), 0.0))
        return min(peaks, key=lambda peak: peak.lost).chances

    def grid(self, bounds: tuple[float, float]) -> list[tuple[float, float]]:
        """Return pairs in ascending order: the logarithm of a root mean square between two bounds, and
        `_Candidate.above` there. Cells are smaller near both bounds, at which there are no candidates: `above` is
        infinite at the first, and minus infinite at the last.
        """
        low, high = (math.log(bound) for bound in bounds)
        steps = [(1 - math.cos(math.pi * at / _GRID_CELLS)) / 2 for at in range(1, _GRID_CELLS)]
        inner = [low + (high - low) * step for step in steps]
        return [(low, math.inf), *((at, self.candidate(math.exp(at)).above) for at in inner), (high, -math.inf)]

    def ranges(self) -> list[tuple[float, float]]:
        """Return ranges that contain the root mean squares of all solutions. For each root mean square r inside a
        range, at least one of the `terms(r)` is above 0.
        """
        steepness = self.ratio / (1 + math.sqrt(1 - self.ratio * self.ratio))
        upward = [offset for offset in self.offsets if offset > 0]
        found: list[tuple[float, float]] = []
        for offset in upward:
            low, high = max(offset * steepness, upward[0] * self.ratio), min(offset / steepness, upward[-1])
            if found and low < found[-1][1]:
                low = found.pop()[0]
            found.append((low, high))
        return found

    def candidate(self, rms: float) -> _Candidate:
        terms = self.terms(rms)
        if not max(terms) > 0:  # by rounding, next to where the greatest is 0
            return _Candidate([count / sum(self.counts) for count in self.counts], math.inf, 0.0)
        chances = _balance(terms, self.counts)
        return _Candidate(chances, self.lost(chances), math.log(self.moments(chances)[1] / rms))

    def root(self, start: tuple[float, float], end: tuple[float, float]) -> _Candidate:
        """Find a root mean square, between two others, at which `_Candidate.above` is 0, and return its candidate. This
        candidate solves the problem. `start` and `end` are pairs: the logarithm of a root mean square, and the value of
        `above` there.

        The first `above` is positive, the second is not. The method is false position in its Illinois form, preceded by
        bisection while an `above` is infinite.
        """
        (low, above), (high, below) = start, end
        side = 0
        for _ in range(_MAX_ROOT_STEPS):
            is_far = math.isinf(above) or math.isinf(below)
            middle = (low + high) / 2 if is_far else low + (high - low) * above / (above - below)
            found = self.candidate(math.exp(middle))
            if abs(found.above) < _TOLERANCE or not low < middle < high:
                break
            if found.above > 0:
                low, above = middle, found.above
                below = below / 2 if side > 0 else below
                side = 1
            else:
                high, below = middle, found.above
                above = above / 2 if side < 0 else above
                side = -1
        return found


def _first_x(terms: Sequence[float], counts: Sequence[float]) -> float:
    """Return the x at which Newton's method starts. It is the result of one Newton step from 0, kept within the range
    of possible x.
    """
    cells = list(zip(terms, counts, strict=True))
    x = sum([count * term for term, count in cells]) / sum([count * term * term for term, count in cells])
    return max(-_NEWTON_START_RATIO / max(terms), min(-_NEWTON_START_RATIO / min(terms), x))


def _balance(terms: Sequence[float], counts: Sequence[float]) -> list[float]:
    """Return the likeliest chances of values under which their terms have mean 0. Some terms are below 0 and some
    above. `counts` says how often each value was observed.

    The chance of a value is count / total / (1 + x * term). Here total is the sum of all counts, and x is the number
    for which the terms have mean 0. If most counts are on one side of 0, a divisor 1 + x * term may be so close to 0
    that rounding costs its digits. So the equation is solved for this divisor instead of x. Then every other divisor is
    a sum of numbers that are not negative.
    """
    total, heavier = sum(counts), sum([count * term for term, count in zip(terms, counts, strict=True)])
    if not heavier:
        return [count / total for count in counts]
    end = min(terms) if heavier > 0 else max(terms)
    shares = [term / end for term in terms]
    least = _solve_end_divisor(shares, counts)
    return [
        count / total / ((1 - share) + least * share if share > 0 else 1 - share * (1 - least))
        for share, count in zip(shares, counts, strict=True)
    ]


def _solve_end_divisor(shares: Sequence[float], counts: Sequence[float]) -> float:
    """Solve the equation of `_balance` for d = 1 + x * end, where end is the least or the greatest term. Return d, from
    0 to 1.

    `shares` are the terms divided by end, so the divisor of a term is 1 - share + d * share. Newton's method changes
    log d, because d may be very small. Instead of a step that would leave the known bounds of d, their geometric mean
    is used.
    """
    along = [(share, 1 - share, count) for share, count in zip(shares, counts, strict=True) if share > 0]
    against = [(share, count) for share, count in zip(shares, counts, strict=True) if share < 0]
    low, high = min(1.0, counts[shares.index(1.0)] / sum([-share * count for share, count in against])), 1.0
    least = math.sqrt(low * high)
    for _ in range(_MAX_STEPS):
        mean = slope = 0.0
        for share, rest, count in along:
            part = share / (rest + least * share)
            weighed = count * part
            mean += weighed
            slope -= weighed * part
        gone = 1 - least
        for share, count in against:
            part = share / (1 - share * gone)
            weighed = count * part
            mean += weighed
            slope -= weighed * part
        low, high = (least, high) if mean > 0 else (low, least)
        after = least * math.exp(-mean / (slope * least)) if abs(mean) < abs(slope * least) else 0.0
        if not low < after < high:
            after = math.sqrt(low * high)
        if abs(after - least) <= _TOLERANCE * least:
            break
        least = after
    return least


def solve_multiplier(terms: Sequence[float], counts: Sequence[float]) -> float:
    """Return the x for which count / total / (1 + x * term) are the maximum-likelihood probabilities with mean term 0.

    Some terms are below 0 and some above. Between the two x at which a probability becomes infinite, the mean is a
    decreasing function of x. So Newton's steps stay between bounds that close in. numba can compile the function
    unchanged.
    """
    low, high = -1 / max(terms), -1 / min(terms)
    x = 0.0
    for _ in range(_MAX_STEPS):
        mean = slope = 0.0
        for at, term in enumerate(terms):
            part = term / (1 + x * term)
            mean += counts[at] * part
            slope -= counts[at] * part * part
        low, high = (x, high) if mean > 0 else (low, x)
        step = x - mean / slope
        after = step if low < step < high else (low + high) / 2
        if abs(after - x) <= _TOLERANCE * max(1.0, abs(x)):
            break
        x = after
    return x
