"""Compilation of loops by numba, if it is installed (the extra `fast`). Without numba, the same source runs as plain
Python.

Compiled functions take numbers, flat arrays and tuples of these. Arrays are numpy arrays with numba, and lists without
it, which plain Python reads several times faster. `ARENA_PLAIN=1` disables numba.
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

_COMPILE_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
"""The options with which numba compiles functions."""
HAS_NUMBA = os.environ.get("ARENA_PLAIN", "") in ("", "0") and find_spec("numba") is not None
"""True if numba is installed and not disabled: `compiled` and `entry` then compile functions."""


def _import_numba() -> Any:
    """Import numba, which takes a third of a second, when a loop is compiled. Raise `UsageFault` if it fails."""
    try:
        import numba
    except ImportError as exc:  # for example if numpy is too new for it
        raise UsageFault(f"numba is installed but can't be used: {exc} (ARENA_PLAIN=1 runs without it)") from exc
    return numba


def compiled(function: F) -> F:
    """Return `function`, compiled for calls from other compiled functions. The functions that it calls must be defined
    above it.

    The function must not divide by zero: compiled code raises no error for that.
    """
    quick: F = _import_numba().njit(**_COMPILE_OPTIONS)(function) if HAS_NUMBA else function
    return quick


def inlined(function: F) -> F:
    """Return `function`, compiled as a part of every compiled function that calls it. This saves calls, which pass each
    array as seven numbers, but the callers take longer to compile.
    """
    quick: F = _import_numba().njit(forceinline=True, **_COMPILE_OPTIONS)(function) if HAS_NUMBA else function
    return quick


def entry(function: F) -> F:
    """Return `function`, compiled for calls from Python. The compiled function runs without the GIL and is cached on
    disk.

    Only such entries are cached, each with all functions that it calls: numba cannot link a cached recursive function
    into another function. The cache folder is named after a digest of all sources that the module depends on. So code
    is compiled again exactly when one of these sources changes, and checkouts with equal sources share the compiled
    code.
    """
    if not HAS_NUMBA:
        return function
    quick = compiled(function)
    from machine.compiled_cache import CompiledCache, compiled_folder

    if compiled_folder(Path(function.__code__.co_filename).absolute()):
        quick._cache = CompiledCache(function)  # type: ignore[attr-defined]
        _announce_compilation(quick)
    return quick


def _announce_compilation(function: Any) -> None:
    """Print a notice before code that is not cached is compiled, if a person is watching."""
    kept = function._cache
    load = kept.load_overload

    def load_or_tell(*what: Any) -> Any:
        found = load(*what)
        if found is None and sys.stderr.isatty():
            _announce_once()
        return found

    kept.load_overload = load_or_tell


@cache
def _announce_once() -> None:
    say("compiling code, once, which takes up to half a minute…", err=True)


def ints(values: Iterable[int]) -> Any:
    """Return a flat array of 64-bit integers with these values."""
    if not HAS_NUMBA:
        return list(values)
    import numpy

    return numpy.array(list(values), dtype=numpy.int64)


def zeros(count: int, kind: type[int] | type[float] = int) -> Any:
    """Return a flat array of `count` zeros of 64 bits."""
    if not HAS_NUMBA:
        return [kind(0)] * count
    import numpy

    return numpy.zeros(count, dtype=numpy.int64 if kind is int else numpy.float64)


def floats(values: Iterable[float]) -> Any:
    """Return a flat array of 64-bit floats with these values."""
    if not HAS_NUMBA:
        return list(values)
    import numpy

    return numpy.array(list(values), dtype=numpy.float64)
