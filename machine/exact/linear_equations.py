"""Exact solution of linear equations in fractions."""

from __future__ import annotations

from fractions import Fraction


def solve(table: list[list[Fraction]]) -> list[Fraction] | None:
    """Solve linear equations. Each row of `table`, which is modified, has the coefficients, then the right side. Return
    the solution, or None unless there is exactly one.
    """
    size = len(table)
    for at in range(size):
        pivot = next((row for row in range(at, size) if table[row][at]), None)
        if pivot is None:
            return None
        table[at], table[pivot] = table[pivot], table[at]
        table[at] = [each / table[at][at] for each in table[at]]
        for row in range(size):
            if row != at and table[row][at]:
                factor = table[row][at]
                table[row] = [each - factor * own for each, own in zip(table[row], table[at], strict=True)]
    return [row[-1] for row in table]
