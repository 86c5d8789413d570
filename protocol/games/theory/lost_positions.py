"""How many sums of heaps are lost for the mover: exact, without looking at each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod


def lost_positions(heaps: Sequence[int], values: Sequence[int], *, misere: bool = False) -> int:
    """How many positions with no heap larger, each heap in its place, are lost by `impartial.outcome`; those without a
    move count among them in normal play. `values` are the Grundy values of all heaps that there can be.

    Among n values it takes n log n steps for each size of heap.
    """
    if not misere:
        return _of_sum_zero(heaps, values)
    none = [sum(value == 0 for value in values[: size + 1]) for size in heaps]
    one = [sum(value == 1 for value in values[: size + 1]) for size in heaps]
    # Where no heap is worth 2 or more, the sum is 0 or 1, and it is the 1 that is lost.
    return _of_sum_zero(heaps, values) - prod(a - b for a, b in zip(none, one, strict=True))


def _of_sum_zero(heaps: Sequence[int], values: Sequence[int]) -> int:
    """How many positions have the nim-sum 0: distributions under exclusive or are multiplied in the Walsh-Hadamard
    transform, and 0 has the mean of it.
    """
    among = 1 << max(values[: max(heaps) + 1]).bit_length()
    distribution = [0] * among
    product = [1] * among
    known = 0
    for size, times in sorted(Counter(heaps).items()):
        for value in values[known : size + 1]:
            distribution[value] += 1
        known = size + 1
        product = [sofar * each**times for sofar, each in zip(product, _transformed(distribution), strict=True)]
    return sum(product) // among


def _transformed(row: Sequence[int]) -> list[int]:
    """The Walsh-Hadamard transform of a row whose length is a power of two."""
    row = list(row)
    half = len(row) // 2
    for _ in range(half.bit_length()):
        left, right = row[:half], row[half:]
        row[::2] = [a + b for a, b in zip(left, right, strict=True)]
        row[1::2] = [a - b for a, b in zip(left, right, strict=True)]
    return row
