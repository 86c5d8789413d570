"""Decreasing curves through noisy points: isotonic regression, and points spaced evenly along such a curve."""

from __future__ import annotations

from collections.abc import Sequence


def isotonic_decreasing(values: Sequence[float]) -> list[float]:
    """Return the nearest non-increasing sequence in least squares: isotonic regression (M. Ayer and others, 1955)."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        blocks.append((value, 1))
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            (one, few), (other, more) = blocks[-2:]
            blocks[-2:] = [((one * few + other * more) / (few + more), few + more)]
    return [value for value, count in blocks for _ in range(count)]


def evenly_spaced(points: Sequence[tuple[float, float]], count: int) -> list[float]:
    """Return `count` values of x, in descending order, at which y rises in equal steps.

    The values of y are those of the decreasing curve nearest to the points (x, y), interpolated linearly. The points
    must have two or more values of x and of y.
    """
    places, heights = zip(*sorted(points), strict=True)
    curve = isotonic_decreasing(heights)
    top, bottom = curve[0], curve[-1]
    found = [places[-1]]
    for number in range(1, count - 1):
        wanted = bottom + (top - bottom) * number / (count - 1)
        after = next(at for at, height in enumerate(curve) if height <= wanted)
        before = after - 1
        part = (curve[before] - wanted) / (curve[before] - curve[after])
        found.append(places[before] + (places[after] - places[before]) * part)
    return [*found, places[0]]
