"""Geometry of charts: scales with round ticks, and the points of SVG lines and polygons. All functions are pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from measuring.payoffs import MeanPayoff

ROUND_STEPS = (1.0, 2.0, 5.0, 10.0)
"""The round distances between ticks, each to be multiplied by a power of ten."""
MIN_LABEL_GAP = 0.24
"""Minimum distance between two ticks, as a fraction of the scale, so that their labels don't overlap on a phone."""
TICK_STEPS, INTEGER_TICK_STEPS, PAYOFF_TICK_STEPS = 5, 4, 3
"""These are the approximate numbers of steps of scales: `TICK_STEPS` of a rating scale, `INTEGER_TICK_STEPS` of a scale
of whole numbers, `PAYOFF_TICK_STEPS` of a payoff scale, whose labels are wide.
"""
_ROUNDING_TOLERANCE = 1e-9
"""Rounding errors up to this fraction of a step are ignored."""
MIN_RATING_SPAN = 4.0
"""Minimum span of a rating scale, in rating points, so that a nearly constant curve looks flat."""

MIN_PAYOFF_SPAN = 0.1
"""Minimum span of a payoff scale, in units of payoff per round."""


class AxisScale(NamedTuple):
    """A scale for values from `low` to `high`, drawn over `size` units, with round `ticks`."""

    low: float
    high: float
    size: float
    ticks: tuple[float, ...]

    @property
    def places(self) -> int:
        """The number of decimals that the labels of the ticks need."""
        return max(0, -math.floor(math.log10(self.ticks[1] - self.ticks[0]) + _ROUNDING_TOLERANCE))

    def at(self, value: float) -> float:
        """Return the position of a value, in units from the low end of the scale."""
        return round((value - self.low) / (self.high - self.low) * self.size, 1) + 0.0  # no -0

    def down(self, value: float) -> float:
        """Return the position of a value on a vertical scale, in units from the top."""
        return round(self.size - self.at(value), 1) + 0.0


def make_scale(
    values: Iterable[float], size: float, min_span: float = MIN_RATING_SPAN, steps: int = TICK_STEPS
) -> AxisScale:
    """Return a scale with a tick at each end that contains all values and spans at least `min_span`. If there are no
    values, it contains 0.
    """
    low, high = _widen_range(list(values) or [0.0, min_span], min_span)
    step = _step((high - low) / steps)
    # Without the tolerance, 0.3 / 0.1 < 3 and 1.1 / 0.1 > 11 would add a tick beyond the ends.
    first, last = math.floor(low / step + _ROUNDING_TOLERANCE), math.ceil(high / step - _ROUNDING_TOLERANCE)
    marks = tuple(round(at * step, 9) for at in range(first, last + 1))
    return AxisScale(marks[0], marks[-1], size, marks)


def payoff_scale(found: Iterable[MeanPayoff | None], size: float) -> AxisScale:
    """Return a scale that contains these mean payoffs and their confidence intervals."""
    known = [each for each in found if each is not None]
    ends = [end for each in known for end in (each.low, each.mean, each.high) if end is not None]
    return make_scale(ends, size, MIN_PAYOFF_SPAN, PAYOFF_TICK_STEPS)


def _widen_range(values: Sequence[float], least: float = MIN_RATING_SPAN) -> tuple[float, float]:
    """Return the minimum and maximum of the values, widened around their middle to span at least `least`."""
    low, high = min(values), max(values)
    lacking = max(0.0, least - (high - low)) / 2
    return low - lacking, high + lacking


def _step(min_step: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20 … that is at least `min_step`."""
    magnitude = float(10 ** math.floor(math.log10(min_step)))
    return next(step * magnitude for step in ROUND_STEPS if step * magnitude >= min_step * (1 - _ROUNDING_TOLERANCE))


def integer_scale(low: int, high: int, size: float) -> AxisScale:
    """Return a scale between two whole numbers. Its ticks are its ends and some round numbers between them."""
    high = max(high, low + 1)
    span = high - low
    step = max(1, math.ceil(_step(span / INTEGER_TICK_STEPS)))
    between = [
        at for at in range(low - low % step + step, high, step) if min(high - at, at - low) >= MIN_LABEL_GAP * span
    ]
    return AxisScale(low, high, size, (low, *between, high))


def svg_points(points: Iterable[tuple[float, float]]) -> str:
    """Return these points as the attribute `points` of an SVG polyline or polygon."""
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def sparkline_points(values: Sequence[float], width: float, height: float) -> str:
    """Return the points of a small curve of values, oldest left, with a margin of 2 units for its marker."""
    low, high = _widen_range(values)
    across, up, bottom = (width - 4) / max(1, len(values) - 1), (height - 4) / (high - low), height - 2
    return " ".join(f"{2 + at * across:.1f},{bottom - (value - low) * up:.1f}" for at, value in enumerate(values))


class RatingCurve(NamedTuple):
    """The curve of a rating over the number of matches, in a box of `x_scale.size` by `y_scale.size`. `mean` and `band`
    are SVG points.
    """

    x_scale: AxisScale
    y_scale: AxisScale
    mean: str
    band: str


def rating_curve(points: Sequence[tuple[int, float, float]], width: float, height: float) -> RatingCurve:
    """Return the curve through points `(played, mu, sigma)`, ascending by `played`. Its band is mu ± 3 sigma."""
    across = integer_scale(points[0][0], points[-1][0], width)
    upright = make_scale([end for _, mu, sigma in points for end in (mu - 3 * sigma, mu + 3 * sigma)], height)
    upper = [(across.at(played), upright.down(mu + 3 * sigma)) for played, mu, sigma in points]
    lower = [(across.at(played), upright.down(mu - 3 * sigma)) for played, mu, sigma in points]
    mean = [(across.at(played), upright.down(mu)) for played, mu, _ in points]
    return RatingCurve(across, upright, svg_points(mean), svg_points([*upper, *reversed(lower)]))
