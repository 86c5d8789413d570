"""Loops compiled by numba where it is installed (the extra `fast`); the same source runs as plain Python otherwise.

What is compiled takes numbers and flat arrays, and tuples of these: numpy arrays with numba, lists without, which plain
Python reads several times faster. `ARENA_PLAIN=1` does without numba where it is installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from machine.terminal import say
from protocol.errors import UsageFault

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
FAST = os.environ.get("ARENA_PLAIN", "") in ("", "0") and find_spec("numba") is not None
"""Whether `compiled` compiles."""


def _numba() -> Any:
    """The module, which takes a third of a second to import: only where a loop is compiled. Raises `UsageFault`."""
    try:
        import numba
    except ImportError as exc:  # as where numpy is newer than it knows
        raise UsageFault(f"numba is installed but of no use: {exc} (ARENA_PLAIN=1 does without)") from exc
    return numba


def compiled(function: F) -> F:
    """`function`, for other compiled functions to call; what it calls is defined above it.

    It must not divide by zero, which compiled code does not notice.
    """
    quick: F = _numba().njit(**_OPTIONS)(function) if FAST else function
    return quick


def entry(function: F) -> F:
    """As `compiled`, for Python to call: it runs without the GIL, and is kept on disk for the next process.

    Only entries are kept, each with all that it calls: numba cannot link a kept recursive function into another. The
    folder is named after all the sources that the function's module is made of, so code is compiled again when one of
    them changes, and only then: other checkouts of the same sources share it.
    """
    if not FAST:
        return function
    quick = compiled(function)
    from machine.compiled_cache import CompiledCache, compiled_folder

    if compiled_folder(Path(function.__code__.co_filename).absolute()):
        quick._cache = CompiledCache(function)  # type: ignore[attr-defined]
        _tell_before_compiling(quick)
    return quick


def _tell_before_compiling(quick: Any) -> None:
    """Have somebody at a terminal told why nothing happens, where the code is not kept yet."""
    kept = quick._cache
    load = kept.load_overload

    def load_or_tell(*what: Any) -> Any:
        found = load(*what)
        if found is None and sys.stderr.isatty():
            _tell()
        return found

    kept.load_overload = load_or_tell


@cache
def _tell() -> None:
    say("compiling code, this once, which takes up to half a minute…", err=True)


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
