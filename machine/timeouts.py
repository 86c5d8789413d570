"""The factor that multiplies timeouts on a slow machine: `ARENA_TIMEOUT_FACTOR` in the environment.

The factor applies to timeouts that guard against another program that may hang. Time limits in the rules of a game,
such as clocks, stay the same.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from typing import Any, TypeVar

from protocol.errors import UsageFault

FACTOR_VARIABLE = "ARENA_TIMEOUT_FACTOR"
"""The name of the environment variable with the factor for timeouts."""
TIMEOUT_FIELD_SUFFIX = "_timeout_s"
"""The suffix of the names of fields that hold timeouts. `scale_timeouts` multiplies only such fields. Intervals and
delays have other suffixes.
"""
T = TypeVar("T")


def timeout_factor(environ: Mapping[str, str] = os.environ) -> float:
    """Return the factor for timeouts from the environment, 1 by default. Raise `UsageFault` if it is invalid."""
    text = environ.get(FACTOR_VARIABLE) or "1"
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 1 <= factor <= 1000:
        raise UsageFault(f"{FACTOR_VARIABLE} is {text!r}: it must be a number from 1 to 1000")
    return factor


def scale_timeouts(timeouts: T, factor: float | None = None) -> T:
    """Return a copy of a dataclass of settings with all its timeouts multiplied, including those of nested dataclasses.

    The default of `factor` is the value of `timeout_factor`, which raises `UsageFault` if the environment variable is
    invalid.
    """
    by = timeout_factor() if factor is None else factor
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(timeouts):  # type: ignore[arg-type]
        value = getattr(timeouts, field.name)
        if dataclasses.is_dataclass(value):
            changed[field.name] = scale_timeouts(value, by)
        elif field.name.endswith(TIMEOUT_FIELD_SUFFIX):
            changed[field.name] = value * by
    return dataclasses.replace(timeouts, **changed)  # type: ignore[type-var]
