"""Who wins a sum of heaps, and how hard it is to see: outcome classes, values, hardest moves, normal and misère.

A heap is judged on its own (heaps.py), so sums of any size are. Difficulty, which walks every position, is in
difficulty.py.

Value and hardest move follow M. Panichelli and I. A. Rehor, Min Nim (2023).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from protocol.games.theory.heaps import HeapRule, Take, nim_rule

Class = Literal["P", "N"]


class Move(NamedTuple):
    """One heap of size `heap` becomes the heaps `parts`."""

    heap: int
    parts: tuple[int, ...]


def grundy(heaps: Iterable[int], rule: HeapRule) -> int:
    """The Grundy value of a sum of heaps: the exclusive or of theirs."""
    total = 0
    for size in heaps:
        total ^= rule.value(size)
    return total


def outcome_class(heaps: Iterable[int], take: Take, *, misere: bool) -> Class:
    """Whether the previous player ("P") or the next ("N") wins Nim with the removals `take`."""
    return outcome(heaps, nim_rule(take), misere=misere)


def outcome(heaps: Iterable[int], rule: HeapRule, *, misere: bool = False) -> Class:
    """Who wins a sum under `rule`. Misère goes by the rule of Nim on Grundy values: as in normal play while some heap
    is worth 2 or more, and the other way round when none is. That holds where the rule is tame, as subtraction games
    are (Ferguson 1974: a heap is worth 1 exactly if the least removal leads to 0); Grundy's game is not.
    """
    total, large = 0, False
    for size in heaps:
        value = rule.value(size)
        total ^= value
        large = large or value > 1
    lost = total == (1 if misere and not large else 0)
    return "P" if lost else "N"


def _wanted(heaps: Sequence[int], rule: HeapRule, misere: bool) -> list[tuple[int, int]]:
    """For each distinct heap: the Grundy value that a result needs for the whole to become a P-position."""
    values = {size: rule.value(size) for size in heaps}
    total = large = 0
    for size in heaps:
        total ^= values[size]
        large += values[size] > 1
    wanted = []
    for size, value in values.items():
        rest_is_small = misere and large == (value > 1)
        wanted.append((size, total ^ value ^ rest_is_small))
    return wanted


def value(heaps: Sequence[int], rule: HeapRule, *, misere: bool = False) -> Fraction:
    """The share of the distinct resulting positions that are P-positions; 0 for a P-position.

    Distinct heaps lead to distinct positions, so no position need be built. Without a move it is 0, in misère 1.
    """
    won = moves = 0
    for size, wanted in _wanted(heaps, rule, misere):
        won += rule.count_results_with_value(size, wanted)
        moves += rule.options(size)
    return Fraction(won, moves) if moves else Fraction(int(misere))


def winning_moves(heaps: Sequence[int], rule: HeapRule, *, misere: bool = False) -> list[Move]:
    """Every distinct move to a P-position."""
    return [
        Move(size, result)
        for size, wanted in _wanted(heaps, rule, misere)
        if rule.count_results_with_value(size, wanted)
        for result in rule.results_with_value(size, wanted)
    ]


def moves(heaps: Iterable[int], rule: HeapRule) -> list[Move]:
    """Every distinct move: one for each size of heap and each of its results."""
    return [Move(size, result) for size in dict.fromkeys(heaps) for result in rule.results(size)]


def after(heaps: Sequence[int], move: Move) -> tuple[int, ...]:
    """The sorted heaps that a move leaves."""
    left = list(heaps)
    left.remove(move.heap)
    left.extend(move.parts)
    left.sort()
    return tuple(left)


def best_moves(heaps: Sequence[int], rule: HeapRule, *, misere: bool = False) -> list[Move]:
    """The moves that lead to the least value. Empty when there is no move.

    From an N-position they are the winning moves; from a P-position those after which the fewest replies win.
    """
    winning = winning_moves(heaps, rule, misere=misere)
    return winning or hardest_moves(heaps, rule, misere=misere)


def hardest_moves(heaps: Sequence[int], rule: HeapRule, *, misere: bool = False) -> list[Move]:
    """The moves that lead to the least value, found by looking at every one."""
    least: tuple[int, int] = (2, 1)
    found: list[Move] = []
    for move in moves(heaps, rule):
        share = value(after(heaps, move), rule, misere=misere).as_integer_ratio()
        difference = share[0] * least[1] - least[0] * share[1]
        if difference < 0:
            least, found = share, []
        if difference <= 0:
            found.append(move)
    return found
