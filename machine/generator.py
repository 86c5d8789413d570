"""A random number generator for compiled loops; its state is the first two slots of a flat array."""

from __future__ import annotations

from typing import Any

from machine.compiled import compiled

FIRST_SLOT, SECOND_SLOT = 0, 1
"""Indices of the two state slots."""
_FIRST_MODULUS, _SECOND_MODULUS = 2147483563, 2147483399
DRAW_RANGE = _FIRST_MODULUS - 1
"""`draw` returns numbers below this."""
SEED_COUNT = 2**31 - 1
"""Number of seeds, from 0 on."""


def seed_state(seed: int) -> tuple[int, int]:
    """Return the generator's state for a seed."""
    return 1 + seed % DRAW_RANGE, 1 + seed * 69069 % (_SECOND_MODULUS - 1)


@compiled
def draw(state: Any) -> int:
    """Return a number from 0 to DRAW_RANGE - 1 by L'Ecuyer's two generators (1988): the same compiled and plain."""
    first = state[FIRST_SLOT] = 40014 * state[FIRST_SLOT] % _FIRST_MODULUS
    second = state[SECOND_SLOT] = 40692 * state[SECOND_SLOT] % _SECOND_MODULUS
    return (first - second) % DRAW_RANGE  # type: ignore[no-any-return]
