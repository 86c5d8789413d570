"""The likelihood of counts where something about their distribution is held: its mean, or its mean in deviations. Pure.

Source: M. Van den Bergh, Comments on Normalized Elo (2021), and A. B. Owen, Empirical Likelihood (2001), 2.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_STEPS = 100
_CLOSE = 1e-12


def with_mean(values: Sequence[float], counts: Sequence[float], mean: float) -> list[float]:
    """The likeliest chances of these values, given how often each came, among those of this mean.

    Counts are above 0; the mean lies between the least and the greatest value.
    """
    return _balanced([value - mean for value in values], counts)


def with_deviations(values: Sequence[float], counts: Sequence[float], centre: float, deviations: float) -> list[float]:
    """As `with_mean`, among those whose mean is so many of their own standard deviations above `centre`.

    With more than half of one, either way, there may be likelier ones elsewhere.
    """
    # It begins where all weight is on the centre and an end, so that what is held does hold. From there, to first order
    # about the last chances, it says that terms have mean 0; some are below 0 and some above, ever after: a standard
    # deviation is concave in the chances, and its tangent above it.
    weight = deviations**2 / (1 + deviations**2)
    aside = (values[-1] if deviations > 0 else values[0]) - centre
    mean, spread = centre + weight * aside, abs(aside) * math.sqrt(weight * (1 - weight))
    if not spread:
        return with_mean(values, counts, centre)
    chances = [0.0] * len(values)
    for _ in range(_STEPS):
        terms = [value - centre - deviations / 2 * (spread + (value - mean) ** 2 / spread) for value in values]
        last, chances = chances, _balanced(terms, counts)
        mean = sum(chance * value for chance, value in zip(chances, values, strict=True))
        spread = math.sqrt(sum(chance * (value - mean) ** 2 for chance, value in zip(chances, values, strict=True)))
        if max(abs(one - other) for one, other in zip(last, chances, strict=True)) < _CLOSE:
            break
    return chances


def _balanced(terms: Sequence[float], counts: Sequence[float]) -> list[float]:
    """The likeliest chances under which the terms, some below 0 and some above, have mean 0."""
    x, total = multiplier(terms, counts), sum(counts)
    return [count / total / (1 + x * term) for term, count in zip(terms, counts, strict=True)]


def multiplier(terms: Sequence[float], counts: Sequence[float]) -> float:
    """The x by which count / total / (1 + x * term) are the likeliest chances under which terms have mean 0.

    Some terms are below 0 and some above. Between the x at which a chance would be infinite the mean only falls, so
    Newton's steps are kept between bounds that close in. It can be compiled as it is.
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
