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
from tempfile import TemporaryFile
from typing import Any, TypeVar

from machine.cache import cache_folder
from machine.source_digest import digest
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

    Only entries are kept, each with all that it calls: numba looks for changes in a kept function's own file only, and
    cannot link a kept recursive function into another. Hence a folder named after all the sources that its module is
    made of.
    """
    if not FAST:
        return function
    folder = _kept_in(Path(function.__code__.co_filename).absolute())
    if folder is None:
        return compiled(function)
    numba = _numba()
    numba.config.CACHE_DIR = str(folder)
    quick: F = numba.njit(cache=True, **_OPTIONS)(function)
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


@cache
def _kept_in(module: Path) -> Path | None:
    """Where the code is kept that was compiled from a module. None where nothing can be written: numba would keep it
    beside the sources, and not see what changed; or where its sources are not there to be read.
    """
    try:
        folder = cache_folder() / f"compiled-{digest(module)}"
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


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
