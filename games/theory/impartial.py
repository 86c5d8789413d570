"""Sums of heaps: outcome classes, values, hardest moves and difficulty, in normal and misère play.

Values of single heaps (heaps.py) settle sums of any size. The class `Difficulty` looks beyond the next move and
enumerates every position, so it suits only small games.

The definitions of value and hardest move follow M. Panichelli and I. A. Rehor, Min Nim (2023).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import factorial, prod
from operator import xor
from typing import Literal, NamedTuple

from games.theory.heaps import HeapRule

Class = Literal["P", "N"]
MAX_POSITIONS = 20_000
"""Maximum number of positions that `reachable_positions` returns."""
_MAX_MEAN_MOVES = 20
"""Maximum number of moves per position, on average, that `reachable_positions` tries. It limits the time."""
Heaps = tuple[int, ...]


class HeapMove(NamedTuple):
    """A move that turns one heap of size `heap` into the heaps `parts`."""

    heap: int
    parts: tuple[int, ...]


def grundy(heaps: Iterable[int], rule: HeapRule) -> int:
    """Return the Grundy value of a position of several heaps: the exclusive or of the heaps' values."""
    return reduce(xor, map(rule.value, heaps), 0)


def outcome(heaps: Iterable[int], rule: HeapRule, *, misere: bool = False) -> Class:
    """Return who wins a sum of heaps under `rule`: the previous player ("P") or the next ("N").

    In misère play, the rule of Nim is applied to Grundy values: the outcome is that of normal play while some heap has
    a value of 2 or more, else the opposite. This is correct if the rule is tame, as subtraction games are (Ferguson
    1974: a heap has the value 1 exactly if the least removal leads to 0). Grundy's game is not tame.
    """
    total, large = 0, False
    for size in heaps:
        value = rule.value(size)
        total ^= value
        large = large or value > 1
    lost = total == (1 if misere and not large else 0)
    return "P" if lost else "N"


def _needed_values(heaps: Sequence[int], rule: HeapRule, misere: bool) -> list[tuple[int, int]]:
    """Return, for each different heap size, the Grundy value to which a winning move (to a P-position) must change such
    a heap. It depends on the values of all other heaps.
    """
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


def win_fraction(heaps: Sequence[int], rule: HeapRule, *, misere: bool = False) -> Fraction:
    """Return the value of a position: the fraction of the distinct next positions that are lost for the opponent
    (P-positions). It is 0 for a P-position. Without a move, it is 0 in normal play and 1 in misère play.
    """
    won = moves = 0
    for size, wanted in _needed_values(heaps, rule, misere):
        won += rule.count_results_with_value(size, wanted)
        moves += rule.count_results(size)
    return Fraction(won, moves) if moves else Fraction(int(misere))


def winning_moves(heaps: Sequence[int], rule: HeapRule, *, misere: bool = False) -> list[HeapMove]:
    """Return every distinct move that wins: it leads to a P-position, which is lost for the opponent."""
    return [
        HeapMove(size, result)
        for size, wanted in _needed_values(heaps, rule, misere)
        if rule.count_results_with_value(size, wanted)
        for result in rule.results_with_value(size, wanted)
    ]


def moves(heaps: Iterable[int], rule: HeapRule) -> list[HeapMove]:
    """Return every distinct move: for each different heap size, one move for each distinct result of a move in such a
    heap.
    """
    return [HeapMove(size, result) for size in dict.fromkeys(heaps) for result in rule.results(size)]


def apply_move(heaps: Sequence[int], move: HeapMove) -> tuple[int, ...]:
    """Return the sorted heaps after a move."""
    left = list(heaps)
    left.remove(move.heap)
    left.extend(move.parts)
    left.sort()
    return tuple(left)


def best_moves(heaps: Sequence[int], rule: HeapRule, *, misere: bool = False) -> list[HeapMove]:
    """Return the moves to the positions of least value (`win_fraction`). From a won position they are the winning
    moves; from a lost one, those with the fewest winning replies.
    """
    winning = winning_moves(heaps, rule, misere=misere)
    return winning or hardest_moves(heaps, rule, misere=misere)


def hardest_moves(heaps: Sequence[int], rule: HeapRule, *, misere: bool = False) -> list[HeapMove]:
    """Return the moves to the positions of least value (`win_fraction`), found by trying every move."""
    least: tuple[int, int] = (2, 1)
    found: list[HeapMove] = []
    for move in moves(heaps, rule):
        share = win_fraction(apply_move(heaps, move), rule, misere=misere).as_integer_ratio()
        difference = share[0] * least[1] - least[0] * share[1]
        if difference < 0:
            least, found = share, []
        if difference <= 0:
            found.append(move)
    return found


def reachable_positions(heaps: Iterable[int], rule: HeapRule) -> set[Heaps] | None:
    """Return every position (sorted heaps) that play from these heaps can reach, including the first. Return None if
    there are more than `MAX_POSITIONS`, or too many moves to enumerate within seconds.
    """
    first = tuple(sorted(heaps))
    if prod(map(rule.min_reachable_heaps, first)) > MAX_POSITIONS * factorial(len(first)):
        return None
    seen = {first}
    waiting = [first]
    patience = MAX_POSITIONS * _MAX_MEAN_MOVES
    while waiting:
        position = waiting.pop()
        patience -= sum(map(rule.count_results, set(position)))
        if len(seen) > MAX_POSITIONS or patience < 0:
            return None
        for move in moves(position, rule):
            following = apply_move(position, move)
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return seen if len(seen) <= MAX_POSITIONS else None


def count_outcomes(positions: Iterable[Heaps], rule: HeapRule, *, misere: bool = False) -> tuple[int, int]:
    """Return how many of `positions` are lost for the mover, and how many are won."""
    classes = [outcome(position, rule, misere=misere) for position in positions]
    return classes.count("P"), classes.count("N")


class Difficulty:
    """The probability that an opponent who moves at random makes a mistake before the game ends.

    The opponent has a won position and chooses each distinct next position with equal probability. A mistake is a
    choice after which the position is no longer won for the opponent. After a correct choice, the other player makes
    the move after which a mistake is likeliest. If the other player is to move, the probability is that after this
    player's best move. If the opponent has only one choice to make, the probability is 1 − the position's
    `win_fraction`. Results are cached.
    """

    def __init__(self, rule: HeapRule, *, misere: bool = False) -> None:
        self._rule = rule
        self._misere = misere
        self._flawless: dict[Heaps, float] = {}

    def error_probability(self, heaps: Sequence[int]) -> float | None:
        """Return the probability that the random opponent makes a mistake; None if too many positions are reachable."""
        first = tuple(sorted(heaps))
        if first not in self._flawless:
            found = reachable_positions(first, self._rule)
            if found is None:
                return None
            for position in sorted(found - self._flawless.keys(), key=lambda heaps: (sum(heaps), -len(heaps))):
                self._flawless[position] = self._flawless_probability(position)
        return 1 - self._flawless[first]

    def _flawless_probability(self, position: Heaps) -> float:
        """Return the probability that the random opponent makes no mistake from this position on."""
        followers = {apply_move(position, move) for move in moves(position, self._rule)}
        if not followers:
            return 1.0
        if outcome(position, self._rule, misere=self._misere) == "P":
            return min(self._flawless[following] for following in followers)
        right = (f for f in followers if outcome(f, self._rule, misere=self._misere) == "P")
        return sum(self._flawless[following] for following in right) / len(followers)

    def hardest_moves(self, heaps: Sequence[int]) -> list[HeapMove] | None:
        """Return the moves from a lost position after which the random opponent is likeliest to make a mistake; None if
        too many positions are reachable.
        """
        if self.error_probability(heaps) is None:
            return None
        kept = [(self._flawless[apply_move(heaps, move)], move) for move in moves(heaps, self._rule)]
        least = min((chance for chance, _ in kept), default=0.0)
        return [move for chance, move in kept if chance <= least]
