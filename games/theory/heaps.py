"""Moves in one heap under each rule of a heap game, and the values of their results. impartial.py has positions of many
heaps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache, reduce
from operator import xor

from games.theory.grundy_values import AllowedTakes, append_grundy_values


class HeapRule(ABC):
    """A rule of moves in a heap game. Each move changes one heap."""

    @abstractmethod
    def results(self, size: int) -> Sequence[tuple[int, ...]]:
        """Return the distinct results of one move in a heap of `size`. A result is a tuple of heaps."""

    @abstractmethod
    def value(self, size: int) -> int:
        """Return the Grundy value of a heap: the least number, from 0, that is not the value of one of its results
        (Sprague 1935, Grundy 1939).
        """

    def value_of(self, result: tuple[int, ...]) -> int:
        """Return the Grundy value of a result, which may be several heaps."""
        return reduce(xor, map(self.value, result))

    def count_results(self, size: int) -> int:
        """Return the number of distinct results of one move in a heap."""
        return len(self.results(size))

    def min_reachable_heaps(self, size: int) -> int:
        """Return a lower bound on the number of different heap sizes that arise from one heap, including its own."""
        return 1

    def count_results_with_value(self, size: int, wanted: int) -> int:
        """Return the number of results of one move in a heap that have the Grundy value `wanted`."""
        return len(self.results_with_value(size, wanted))

    def results_with_value(self, size: int, wanted: int) -> Sequence[tuple[int, ...]]:
        """Return the results of one move in a heap that have the Grundy value `wanted`."""
        return [result for result in self.results(size) if self.value_of(result) == wanted]


class AnyTakeRule(HeapRule):
    """The rule of Nim: any positive number may be taken, and a heap's Grundy value is its size (Bouton 1901)."""

    def results(self, size: int) -> list[tuple[int]]:
        return [(size - take,) for take in range(1, size + 1)]

    def value(self, size: int) -> int:
        return size

    def count_results(self, size: int) -> int:
        return size

    def min_reachable_heaps(self, size: int) -> int:
        return size + 1

    def count_results_with_value(self, size: int, wanted: int) -> int:
        return wanted < size

    def results_with_value(self, size: int, wanted: int) -> list[tuple[int]]:
        return [(wanted,)] if wanted < size else []


class SubtractionRule(HeapRule):
    """The rule of a subtraction game: only the numbers in `take` may be removed. The Grundy values become periodic."""

    def __init__(self, take: tuple[int, ...]) -> None:
        self.take = take
        self._values = bytearray(take[0])
        self.period: int | None = None
        """The period of the Grundy values; None until enough values have been computed to detect it."""
        self.preperiod = 0
        """The least heap size from which the Grundy values are periodic."""

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
        """Compute Grundy values in doubling steps, up to that of `size` or until the period is found. One assignment
        replaces the old values, so that threads may share a rule.
        """
        values = bytearray(self._values)
        circle = None
        while len(values) <= size and circle is None:
            append_grundy_values(values, self.take, min(max(size + 1, 64), 2 * len(values) + 2 * self.take[-1]))
            circle = _find_period(values, self.take[-1])
        self._values = values
        if circle is not None:
            self.preperiod, self.period = circle


def _find_period(values: bytearray, memory: int) -> tuple[int, int] | None:
    """Return the index from which Grundy values are periodic, and the period; None if they have not repeated yet. The
    last `memory` values determine all later ones, so their earlier occurrence closes a cycle.
    """
    window = values[len(values) - memory :]
    first = values.find(window)
    if len(values) < 2 * memory or first == len(values) - memory:
        return None
    period = values.find(window, first + 1) - first
    while first and values[first - 1] == values[first - 1 + period]:
        first -= 1
    return first, period


class GrundyRule(HeapRule):
    """The rule of Grundy's game: a move splits a heap into two of different sizes."""

    def __init__(self) -> None:
        self._values = bytes(3)
        self._ways = cache(self._count_ways)

    def results(self, size: int) -> list[tuple[int, int]]:
        return [(part, size - part) for part in range(1, (size + 1) // 2)]

    def value(self, size: int) -> int:
        if size >= len(self._values):
            self._values = _split_values(self._values, size)
        return self._values[size]

    def count_results(self, size: int) -> int:
        return max(0, (size - 1) // 2)

    def count_results_with_value(self, size: int, wanted: int) -> int:
        return self._ways(size).get(wanted, 0)

    def _count_ways(self, size: int) -> Counter[int]:
        return Counter(self.value_of(result) for result in self.results(size))


def _split_values(known: bytes, upto: int) -> bytes:
    """Return the Grundy values of all heap sizes up to `upto`. The values of all splits of a heap are computed at once,
    as the exclusive or of two long integers: each byte of one is the value of a first part, each byte of the other that
    of a second part.
    """
    values = bytearray(known)
    for size in range(len(values), upto + 1):
        half = (size + 1) // 2
        small = int.from_bytes(values[1:half], "little")
        large = int.from_bytes(values[size - half + 1 : size], "big")
        reached = set((small ^ large).to_bytes(half - 1, "little"))
        values.append(next(value for value in range(256) if value not in reached))
    return bytes(values)


@lru_cache(maxsize=64)
def nim_rule(take: AllowedTakes) -> HeapRule:
    """Return the rule of Nim with these removals. Rules are cached, because they keep the values that they compute."""
    return AnyTakeRule() if take is None else SubtractionRule(tuple(sorted(set(take))))


GRUNDY_RULE = GrundyRule()
"""The rule of Grundy's game. One object is shared, because it keeps the values that it has computed."""
