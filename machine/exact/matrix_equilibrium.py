"""Equilibria of one round of a matrix game of two, exactly, by enumeration of supports in fractions.

Of each player every mix is found that holds the other to a payoff on as many choices as it mixes itself (Mangasarian,
Equilibrium Points of Bimatrix Games, 1964); two that are best replies to each other are an equilibrium. These are all
extreme equilibria, of which each such game has at least one, zero-sum or not; of a degenerate one too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from machine.exact.linear_equations import solve

Matrix = tuple[tuple[tuple[int, int], ...], ...]
"""For each choice of seat 0 a row that has, for each of seat 1, both payoffs."""
Mix = tuple[Fraction, ...]
"""The probability of each choice of a seat."""


class _Held(NamedTuple):
    """A mix, and which choices of the other are best against it."""

    mix: Mix
    replies: frozenset[int]

    @property
    def support(self) -> frozenset[int]:
        return frozenset(choice for choice, chance in enumerate(self.mix) if chance)


@lru_cache(maxsize=64)
def equilibrium(payoffs: Matrix) -> tuple[Mix, Mix]:
    """The mixes of both seats in one equilibrium, always the same one: where the game is alike for both seats one in
    which they mix alike, if there is; of those the one that pays both together most; the first in order.
    """
    found = equilibria(payoffs)
    alike = [pair for pair in found if pair[0] == pair[1]] if _symmetric(payoffs) else []
    return max(alike or found, key=lambda pair: (sum(expected(payoffs, *pair)), pair))


def equilibria(payoffs: Matrix) -> list[tuple[Mix, Mix]]:
    """Every extreme equilibrium."""
    columns = range(len(payoffs[0]))
    to_one = [[pair[1] for pair in row] for row in payoffs]
    to_zero = [[row[column][0] for row in payoffs] for column in columns]
    seconds = list(_mixes(to_zero))
    return [
        (first.mix, second.mix)
        for first in _mixes(to_one)
        for second in seconds
        if second.support <= first.replies and first.support <= second.replies
    ]


def expected(payoffs: Matrix, one: Mix, two: Mix) -> tuple[Fraction, Fraction]:
    """What both seats get on average where they mix so."""
    zero, other = (
        sum(
            (p * q * payoffs[row][column][seat] for row, p in enumerate(one) for column, q in enumerate(two)),
            start=Fraction(0),
        )
        for seat in (0, 1)
    )
    return zero, other


def _symmetric(payoffs: Matrix) -> bool:
    size = len(payoffs)
    return len(payoffs[0]) == size and all(
        payoffs[row][column] == payoffs[column][row][::-1] for row in range(size) for column in range(size)
    )


def _mixes(payoffs: Sequence[Sequence[int]]) -> Iterator[_Held]:
    """The mixes over rows against which as many columns are best as are mixed; `payoffs` are those of the column."""
    rows, columns = range(len(payoffs)), range(len(payoffs[0]))
    seen = set()
    for size in range(1, min(len(rows), len(columns)) + 1):
        for support in combinations(rows, size):
            for equal in combinations(columns, size):
                mix = _mix(payoffs, support, equal)
                if mix is None or mix in seen:
                    continue
                got = [sum((chance * payoffs[row][column] for row, chance in enumerate(mix))) for column in columns]
                if got[equal[0]] == max(got):
                    seen.add(mix)
                    yield _Held(mix, frozenset(column for column in columns if got[column] == max(got)))


def _mix(payoffs: Sequence[Sequence[int]], support: Sequence[int], equal: Sequence[int]) -> Mix | None:
    """The only mix over the rows of `support` against which the columns in `equal` get the same; None without one."""
    size = len(support)
    table = [[Fraction(payoffs[row][column]) for row in support] + [Fraction(-1), Fraction(0)] for column in equal]
    table.append([Fraction(1)] * size + [Fraction(0), Fraction(1)])
    solved = solve(table)
    if solved is None or min(solved[:size]) < 0:
        return None
    mix = [Fraction(0)] * len(payoffs)
    for row, chance in zip(support, solved, strict=False):  # the last is what they get
        mix[row] = chance
    return tuple(mix)
