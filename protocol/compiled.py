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

    It must not divide by zero, which compiled code does not notice. What it calls is defined above it.
    """
    if _NJIT is None:
        return function
    quick: F = _NJIT(cache=True, nogil=True, error_model="numpy")(function)
    _stamp(quick, function)
    return quick


def _stamp(quick: Any, function: Callable[..., Any]) -> None:
    """Have what is kept on disk hold for these callees and constants only: numba asks after the function's own file,
    but what it calls is compiled into it.
    """
    used = [function.__globals__.get(name) for name in function.__code__.co_names]
    stamps = [value if isinstance(value, (int, float)) else getattr(value, "stamp", None) for value in used]
    kept = quick._cache._cache_file
    quick.stamp = kept._source_stamp = (kept._source_stamp, *stamps)


def ints(values: Iterable[int]) -> Any:
    """A flat array of 64-bit integers."""
    if not FAST:
        return list(values)
    import numpy

    return numpy.array(list(values), dtype=numpy.int64)


def zeros(count: int, kind: type[int] | type[float] = int) -> Any:
    """A flat array of 64-bit numbers, all 0."""
    if not FAST:
        return [kind(0)] * count
    import numpy

    return numpy.zeros(count, dtype=numpy.int64 if kind is int else numpy.float64)


def floats(values: Iterable[float]) -> Any:
    """A flat array of 64-bit floats."""
    if not FAST:
        return list(values)
    import numpy

    return numpy.array(list(values), dtype=numpy.float64)
