"""Where things lie in drawings: scales with round ticks, polygons and lines as SVG wants them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from measuring.payoffs import MeanPayoff

STEPS = (1.0, 2.0, 5.0, 10.0)
APART = 0.24
"""The least part of a scale between two of its ticks, so that their labels don't meet on a phone."""
TICKS, WHOLE_TICKS, PAYOFF_TICKS = 5, 4, 3
"""So many steps between ticks, about: of a scale, of one of whole numbers, of one of payoffs, whose labels are wide."""
_ROUNDING = 1e-9
"""Part of a step by which arithmetic may be off."""
LEAST_SPAN = 4.0
"""Rating points: a curve that moves by less is drawn as flat as it is."""

LEAST_PAYOFFS = 0.1
"""The same of payoffs a round."""


class Scale(NamedTuple):
    """Values from `low` to `high`, drawn over `size` units; `ticks` are round values between."""

    low: float
    high: float
    size: float
    ticks: tuple[float, ...]

    @property
    def places(self) -> int:
        """Decimals that tell ticks apart."""
        return max(0, -math.floor(math.log10(self.ticks[1] - self.ticks[0]) + _ROUNDING))

    def at(self, value: float) -> float:
        """Where a value lies, in units from the low end."""
        return round((value - self.low) / (self.high - self.low) * self.size, 1) + 0.0  # no -0

    def down(self, value: float) -> float:
        """Where a value lies on an upright scale, in units from its top."""
        return round(self.size - self.at(value), 1) + 0.0


def scale(values: Iterable[float], size: float, least: float = LEAST_SPAN, steps: int = TICKS) -> Scale:
    """A scale that holds all the values, from tick to tick, and spans the `least` or more; from 0 on for none."""
    low, high = _spanning(list(values) or [0.0, least], least)
    step = _step((high - low) / steps)
    # 0.3 / 0.1 is less than 3 and 1.1 / 0.1 more than 11: another tick would be drawn beyond the ends
    first, last = math.floor(low / step + _ROUNDING), math.ceil(high / step - _ROUNDING)
    marks = tuple(round(at * step, 9) for at in range(first, last + 1))
    return Scale(marks[0], marks[-1], size, marks)


def payoff_scale(found: Iterable[MeanPayoff | None], size: float) -> Scale:
    """A scale that holds these means and their intervals."""
    known = [each for each in found if each is not None]
    ends = [end for each in known for end in (each.low, each.mean, each.high) if end is not None]
    return scale(ends, size, LEAST_PAYOFFS, PAYOFF_TICKS)


def _spanning(values: Sequence[float], least: float = LEAST_SPAN) -> tuple[float, float]:
    """The ends of the values, or what spans the `least` about their middle."""
    low, high = min(values), max(values)
    lacking = max(0.0, least - (high - low)) / 2
    return low - lacking, high + lacking


def _step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20 … that is no less."""
    magnitude = float(10 ** math.floor(math.log10(least)))
    return next(step * magnitude for step in STEPS if step * magnitude >= least * (1 - _ROUNDING))


def whole(low: int, high: int, size: float) -> Scale:
    """A scale from one whole number to another, exactly; its ticks are the two and some round ones between."""
    high = max(high, low + 1)
    span = high - low
    step = max(1, math.ceil(_step(span / WHOLE_TICKS)))
    between = [at for at in range(low - low % step + step, high, step) if min(high - at, at - low) >= APART * span]
    return Scale(low, high, size, (low, *between, high))


def line(points: Iterable[tuple[float, float]]) -> str:
    """The `points` of a polyline or polygon."""
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def curve(values: Sequence[float], width: float, height: float) -> str:
    """A small curve of some values, oldest left, with a margin of 2 units for its end."""
    low, high = _spanning(values)
    across, up, bottom = (width - 4) / max(1, len(values) - 1), (height - 4) / (high - low), height - 2
    return " ".join(f"{2 + at * across:.1f},{bottom - (value - low) * up:.1f}" for at, value in enumerate(values))


class RatingCurve(NamedTuple):
    """A rating over matches, drawn in a box of `across.size` by `upright.size`: the mean and the band about it."""

    across: Scale
    upright: Scale
    mean: str
    band: str


def rating_curve(points: Sequence[tuple[int, float, float]], width: float, height: float) -> RatingCurve:
    """The curve of points `(played, mu, sigma)`, ascending; the band is three sigma to either side."""
    across = whole(points[0][0], points[-1][0], width)
    upright = scale([end for _, mu, sigma in points for end in (mu - 3 * sigma, mu + 3 * sigma)], height)
    upper = [(across.at(played), upright.down(mu + 3 * sigma)) for played, mu, sigma in points]
    lower = [(across.at(played), upright.down(mu - 3 * sigma)) for played, mu, sigma in points]
    mean = [(across.at(played), upright.down(mu)) for played, mu, _ in points]
    return RatingCurve(across, upright, line(mean), line([*upper, *reversed(lower)]))
