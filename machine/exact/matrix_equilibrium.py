"""Exact equilibria of a two-player matrix game, by enumeration of supports in fractions.

For each player, the method finds every mix of n choices that makes n choices of the other player equally good
(Mangasarian, Equilibrium Points of Bimatrix Games, 1964). Two mixes that are best responses to each other are an
equilibrium. The method finds all extreme equilibria and no others. Every game, zero-sum or not, degenerate or not, has
at least one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from machine.exact.linear_equations import solve

Matrix = tuple[tuple[tuple[int, int], ...], ...]
"""The type of a payoff matrix: a row for each choice of seat 0, with both payoffs for each choice of seat 1."""
Mix = tuple[Fraction, ...]
"""The type of a mixed strategy (a mix): the probability of each choice of a seat."""


class _MixWithReplies(NamedTuple):
    """A mix, and the other player's best responses to it."""

    mix: Mix
    replies: frozenset[int]

    @property
    def support(self) -> frozenset[int]:
        return frozenset(choice for choice, chance in enumerate(self.mix) if chance)


@lru_cache(maxsize=64)
def equilibrium(payoffs: Matrix) -> tuple[Mix, Mix]:
    """Return one equilibrium, always the same: the mix of each seat.

    In a symmetric game, only equilibria with equal mixes of both seats are considered, if there are any. The
    equilibrium with the highest sum of both payoffs is returned; in a tie, the last in order.
    """
    found = equilibria(payoffs)
    alike = [pair for pair in found if pair[0] == pair[1]] if _is_symmetric(payoffs) else []
    return max(alike or found, key=lambda pair: (sum(expected_payoffs(payoffs, *pair)), pair))


def equilibria(payoffs: Matrix) -> list[tuple[Mix, Mix]]:
    """Return every extreme equilibrium of the game with these payoffs, as pairs of mixes: that of seat 0 and that of
    seat 1.
    """
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


def expected_payoffs(payoffs: Matrix, mix0: Mix, mix1: Mix) -> tuple[Fraction, Fraction]:
    zero, other = (
        sum(
            (p * q * payoffs[row][column][seat] for row, p in enumerate(mix0) for column, q in enumerate(mix1)),
            start=Fraction(0),
        )
        for seat in (0, 1)
    )
    return zero, other


def _is_symmetric(payoffs: Matrix) -> bool:
    size = len(payoffs)
    return len(payoffs[0]) == size and all(
        payoffs[row][column] == payoffs[column][row][::-1] for row in range(size) for column in range(size)
    )


def _mixes(payoffs: Sequence[Sequence[int]]) -> Iterator[_MixWithReplies]:
    """Yield, for each n, the mixed strategies over n rows against which n columns are equally good best responses.
    `payoffs` are those of the column player.
    """
    rows, columns = range(len(payoffs)), range(len(payoffs[0]))
    seen = set()
    for size in range(1, min(len(rows), len(columns)) + 1):
        for support in combinations(rows, size):
            for equal in combinations(columns, size):
                mix = _solve_mix(payoffs, support, equal)
                if mix is None or mix in seen:
                    continue
                got = [sum((chance * payoffs[row][column] for row, chance in enumerate(mix))) for column in columns]
                if got[equal[0]] == max(got):
                    seen.add(mix)
                    yield _MixWithReplies(mix, frozenset(column for column in columns if got[column] == max(got)))


def _solve_mix(payoffs: Sequence[Sequence[int]], support: Sequence[int], equal: Sequence[int]) -> Mix | None:
    """Return the mix of the rows `support` that makes the columns in `equal` pay the same; None unless it is unique."""
    size = len(support)
    table = [[Fraction(payoffs[row][column]) for row in support] + [Fraction(-1), Fraction(0)] for column in equal]
    table.append([Fraction(1)] * size + [Fraction(0), Fraction(1)])
    solved = solve(table)
    if solved is None or min(solved[:size]) < 0:
        return None
    mix = [Fraction(0)] * len(payoffs)
    for row, chance in zip(support, solved, strict=False):  # the last unknown is the common payoff
        mix[row] = chance
    return tuple(mix)
