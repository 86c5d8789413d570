"""Sums of floats that round alike in every version of Python."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce


def sum_in_order(numbers: Iterable[float]) -> float:
    """Return the sum of `numbers`, added from left to right and rounded after each addition, as compiled code does it.

    `sum` rounds so up to Python 3.11 and less from 3.12 on. What decides a move must not depend on that: of two moves
    that are equal in one version, one would be better in the other, and a seed would play another match.
    """
    return reduce(operator.add, numbers, 0.0)
