"""A random number generator for compiled loops. Its state is in the first two slots of a flat array."""

from __future__ import annotations

from typing import Any

from machine.compiled import compiled

FIRST_SLOT, SECOND_SLOT = 0, 1
"""`FIRST_SLOT` and `SECOND_SLOT` are the indices of the two array slots that hold the state of the generator."""
_FIRST_MODULUS, _SECOND_MODULUS = 2147483563, 2147483399
"""`_FIRST_MODULUS` and `_SECOND_MODULUS` are the moduli of the two generators that `draw` combines."""
DRAW_RANGE = _FIRST_MODULUS - 1
"""The bound of `draw`, which returns numbers from 0 to `DRAW_RANGE` - 1."""
SEED_COUNT = 2**31 - 1
"""The number of possible seeds. Seeds start at 0."""


def seed_state(seed: int) -> tuple[int, int]:
    return 1 + seed % DRAW_RANGE, 1 + seed * 69069 % (_SECOND_MODULUS - 1)


@compiled
def draw(state: Any) -> int:
    """Return a number from 0 to DRAW_RANGE - 1 by L'Ecuyer's combination of two generators (1988). Compiled code and
    plain Python give equal numbers.
    """
    first = state[FIRST_SLOT] = 40014 * state[FIRST_SLOT] % _FIRST_MODULUS
    second = state[SECOND_SLOT] = 40692 * state[SECOND_SLOT] % _SECOND_MODULUS
    return (first - second) % DRAW_RANGE  # type: ignore[no-any-return]
