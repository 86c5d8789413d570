"""Sums of floats that round alike in every version of Python."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce


def sum_in_order(numbers: Iterable[float]) -> float:
    """Return the sum of `numbers`, added from left to right and rounded after each addition, as in compiled loops.

    `sum` does that up to Python 3.11; from 3.12 on it corrects its rounding. With `sum`, two moves that are equally
    good in one version could differ in the other, and the same seed would play another match.
    """
    return reduce(operator.add, numbers, 0.0)
