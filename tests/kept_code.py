"""Compiled functions that only tests call from Python, kept on disk as the product keeps those that it calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from machine.compiled import HAS_NUMBA, entry


def kept(function: Any) -> Callable[..., Any]:
    """Return the function for calls from Python; numba would compile a `compiled` one anew in every run."""
    return entry(function.py_func) if HAS_NUMBA else function  # type: ignore[no-any-return]
