"""Heaps on their own: what a heap may become under each rule, and its Grundy value.

Sums of heaps are in impartial.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache, reduce
from operator import xor

Take = tuple[int, ...] | None
"""The removals that are allowed, ascending and distinct; None: any positive number."""


class HeapRule(ABC):
    """A rule under which heaps are played, one heap a move."""

    @abstractmethod
    def results(self, size: int) -> Sequence[tuple[int, ...]]:
        """The heaps that one move may make of a heap of `size`; all different, empty where nothing can be done."""

    @abstractmethod
    def value(self, size: int) -> int:
        """The Grundy value of a heap: the least that none of its results has (Sprague 1935, Grundy 1939)."""

    def value_of(self, result: tuple[int, ...]) -> int:
        """The Grundy value of a few heaps together."""
        return reduce(xor, map(self.value, result))

    def options(self, size: int) -> int:
        """How many results a heap has."""
        return len(self.results(size))

    def min_reachable_heaps(self, size: int) -> int:
        """How many different heaps a heap can surely become, itself included: a lower bound."""
        return 1

    def count_results_with_value(self, size: int, wanted: int) -> int:
        """How many results of a heap have the Grundy value `wanted`."""
        return len(self.results_with_value(size, wanted))

    def results_with_value(self, size: int, wanted: int) -> Sequence[tuple[int, ...]]:
        """The results of a heap that have the Grundy value `wanted`."""
        return [result for result in self.results(size) if self.value_of(result) == wanted]


class AnyTake(HeapRule):
    """Nim: any positive number may be taken, and a heap's value is its size (Bouton 1901)."""

    def results(self, size: int) -> list[tuple[int]]:
        return [(size - take,) for take in range(1, size + 1)]

    def value(self, size: int) -> int:
        return size

    def options(self, size: int) -> int:
        return size

    def min_reachable_heaps(self, size: int) -> int:
        return size + 1

    def count_results_with_value(self, size: int, wanted: int) -> int:
        return wanted < size

    def results_with_value(self, size: int, wanted: int) -> list[tuple[int]]:
        return [(wanted,)] if wanted < size else []


class SetTake(HeapRule):
    """A subtraction game: only the numbers in `take` may be removed. The values repeat, and the period is found."""

    def __init__(self, take: tuple[int, ...]) -> None:
        self.take = take
        self._values = bytearray(take[0])
        self.period: int | None = None
        """The length after which the values repeat, once so many have been computed that it shows."""
        self.preperiod = 0
        """The size of the first heap from which they do."""

    def results(self, size: int) -> list[tuple[int]]:
        return [(size - take,) for take in self.take if take <= size]

    def value(self, size: int) -> int:
        values = self._values
        if size < len(values):
            return values[size]
        if self.period is None:
            self._extend(size)
            return self.value(size)
        return values[self.preperiod + (size - self.preperiod) % self.period]

    def min_reachable_heaps(self, size: int) -> int:
        return size // self.take[0] + 1

    def count_results_with_value(self, size: int, wanted: int) -> int:
        return sum(self.value(size - take) == wanted for take in self.take if take <= size)

    def _extend(self, size: int) -> None:
        """Compute values in doubling steps until `size` is among them or the period shows.

        The new values replace the old in one assignment, so that threads may share a rule.
        """
        values = bytearray(self._values)
        circle = None
        while len(values) <= size and circle is None:
            _append(values, self.take, min(max(size + 1, 64), 2 * len(values) + 2 * self.take[-1]))
            circle = _find_period(values, self.take[-1])
        self._values = values
        if circle is not None:
            self.preperiod, self.period = circle


def _find_period(values: bytearray, memory: int) -> tuple[int, int] | None:
    """Where the values begin to repeat and the period: the last `memory` values fix all that follow, so that their
    earlier return closes a circle. None where they have not returned yet.
    """
    window = values[len(values) - memory :]
    first = values.find(window)
    if len(values) < 2 * memory or first == len(values) - memory:
        return None
    period = values.find(window, first + 1) - first
    while first and values[first - 1] == values[first - 1 + period]:
        first -= 1
    return first, period


def _append(values: bytearray, take: tuple[int, ...], upto: int) -> None:
    """Append Grundy values until there are `upto`: the least value missing among the heaps one removal away."""
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


def first_grundy_values(take: Take, count: int) -> Sequence[int]:
    """The values of the heaps below `count` in Nim with these removals. No period is looked for, which takes longer."""
    if take is None:
        return range(count)
    values = bytearray(take[0])
    _append(values, take, count)
    return values[:count]


class Split(HeapRule):
    """Grundy's game: a heap is split into two of different sizes."""

    def __init__(self) -> None:
        self._values = bytes(3)
        self._ways = cache(self._count_ways)

    def results(self, size: int) -> list[tuple[int, int]]:
        return [(part, size - part) for part in range(1, (size + 1) // 2)]

    def value(self, size: int) -> int:
        if size >= len(self._values):
            self._values = _split_values(self._values, size)
        return self._values[size]

    def options(self, size: int) -> int:
        return max(0, (size - 1) // 2)

    def count_results_with_value(self, size: int, wanted: int) -> int:
        return self._ways(size).get(wanted, 0)

    def _count_ways(self, size: int) -> Counter[int]:
        return Counter(self.value_of(result) for result in self.results(size))


def _split_values(known: bytes, upto: int) -> bytes:
    """Values of all heaps up to `upto`: the parts' values are combined as two long integers, byte for byte."""
    values = bytearray(known)
    for size in range(len(values), upto + 1):
        half = (size + 1) // 2
        small = int.from_bytes(values[1:half], "little")
        large = int.from_bytes(values[size - half + 1 : size], "big")
        reached = set((small ^ large).to_bytes(half - 1, "little"))
        values.append(next(value for value in range(256) if value not in reached))
    return bytes(values)


@lru_cache(maxsize=64)
def nim_rule(take: Take) -> HeapRule:
    """The rule of Nim with these removals; kept, as its values grow with use."""
    return AnyTake() if take is None else SetTake(tuple(sorted(set(take))))


SPLIT = Split()
