"""Grundy values of heaps of Nim, and the number of lost positions. The rules of nim need them to deal heaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

AllowedTakes = tuple[int, ...] | None
"""The type of the numbers that a move may remove from a heap, ascending and distinct. None means any positive number.
"""


def append_grundy_values(values: bytearray, take: tuple[int, ...], upto: int) -> None:
    """Append Grundy values until there are `upto`. Each is the least number that is no value after one removal."""
    bits = [1 << value for value in values[-take[-1] :]] if len(values) >= take[-1] else [1 << v for v in values]
    offset = len(values) - len(bits)
    mex = [next(value for value in range(18) if not seen >> value & 1) for seen in range(1 << min(len(take), 8))]
    for size in range(len(values), upto):
        seen = 0
        for removed in take:
            if removed > size:
                break
            seen |= bits[size - removed - offset]
        value = mex[seen] if seen < len(mex) else (~seen & (seen + 1)).bit_length() - 1
        values.append(value)
        bits.append(1 << value)


def first_grundy_values(take: AllowedTakes, count: int) -> Sequence[int]:
    """Return the Grundy values of heap sizes below `count` in Nim with these removals, without finding a period."""
    if take is None:
        return range(count)
    values = bytearray(take[0])
    append_grundy_values(values, take, count)
    return values[:count]


def count_lost_positions(heaps: Sequence[int], values: Sequence[int], *, misere: bool = False) -> int:
    """Return the number of lost positions whose i-th heap is no larger than heaps[i], for every i.

    In normal play, positions without a move are lost, too. `values` are the Grundy values of all possible heaps. For n
    values, the function takes n log n steps for each different size in `heaps`.
    """
    if not misere:
        return _count_nim_sum_zero(heaps, values)
    none = [sum(value == 0 for value in values[: size + 1]) for size in heaps]
    one = [sum(value == 1 for value in values[: size + 1]) for size in heaps]
    # If no heap has a value of 2 or more, the sum is 0 or 1, and the positions with 1 are lost.
    return _count_nim_sum_zero(heaps, values) - prod(a - b for a, b in zip(none, one, strict=True))


def _count_nim_sum_zero(heaps: Sequence[int], values: Sequence[int]) -> int:
    """Return how many positions with heaps up to these sizes have the nim-sum 0. It is the mean of the product of the
    Walsh-Hadamard transforms of the distributions of each heap's value.
    """
    among = 1 << max(values[: max(heaps) + 1]).bit_length()
    distribution = [0] * among
    product = [1] * among
    known = 0
    for size, times in sorted(Counter(heaps).items()):
        for value in values[known : size + 1]:
            distribution[value] += 1
        known = size + 1
        product = [sofar * each**times for sofar, each in zip(product, _walsh_hadamard(distribution), strict=True)]
    return sum(product) // among


def _walsh_hadamard(row: Sequence[int]) -> list[int]:
    row = list(row)
    half = len(row) // 2
    for _ in range(half.bit_length()):
        left, right = row[:half], row[half:]
        row[::2] = [a + b for a, b in zip(left, right, strict=True)]
        row[1::2] = [a - b for a, b in zip(left, right, strict=True)]
    return row
