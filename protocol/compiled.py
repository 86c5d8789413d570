"""Loops compiled by numba where it is installed (the extra `fast`); the same source runs as plain Python otherwise.

What is compiled takes numbers and flat arrays only: numpy arrays with numba, lists without, which plain Python reads
several times faster. `ARENA_PLAIN=1` does without numba where it is installed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def _njit() -> Any:
    if os.environ.get("ARENA_PLAIN", "") not in ("", "0"):
        return None
    try:
        from numba import njit
    except ImportError:
        return None
    return njit


_NJIT = _njit()
FAST = _NJIT is not None
"""Whether `compiled` compiles."""


def compiled(function: F) -> F:
    """`function`, compiled at its first call and kept on disk for the next process; it runs without the GIL.

    It must not divide by zero, which compiled code does not notice.
    """
    if _NJIT is None:
        return function
    quick: F = _NJIT(cache=True, nogil=True, error_model="numpy")(function)
    return quick


def ints(values: Iterable[int]) -> Any:
    """A flat array of 64-bit integers."""
    if not FAST:
        return list(values)
    import numpy

    return numpy.array(list(values), dtype=numpy.int64)


def floats(values: Iterable[float]) -> Any:
    """A flat array of 64-bit floats."""
    if not FAST:
        return list(values)
    import numpy

    return numpy.array(list(values), dtype=numpy.float64)
