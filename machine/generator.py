"""A random number generator for compiled loops; its state is the first two slots of a flat array."""

from __future__ import annotations

from typing import Any

from machine.compiled import compiled

FIRST, SECOND = 0, 1
"""Indices of the two state slots."""
_FIRST, _SECOND = 2147483563, 2147483399
SPAN = _FIRST - 1
"""`draw` returns numbers below this."""
SEEDS = 2**31 - 1
"""Number of seeds, from 0 on."""


def seeded(seed: int) -> tuple[int, int]:
    """Return the generator's state for a seed."""
    return 1 + seed % SPAN, 1 + seed * 69069 % (_SECOND - 1)


@compiled
def draw(state: Any) -> int:
    """Return a number from 0 to SPAN - 1 by L'Ecuyer's two generators (1988): the same compiled and plain."""
    first = state[FIRST] = 40014 * state[FIRST] % _FIRST
    second = state[SECOND] = 40692 * state[SECOND] % _SECOND
    return (first - second) % SPAN  # type: ignore[no-any-return]
