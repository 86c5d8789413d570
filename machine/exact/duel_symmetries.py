"""The symmetries of a map's graph: renumberings of its territories that lead borders to borders."""

from __future__ import annotations

from collections.abc import Sequence

from machine.exact.duel_shape import Shape

_MOST = 128
"""A larger group costs more than it saves."""


def symmetries(shape: Shape) -> list[tuple[int, ...]]:
    """A group of symmetries, each by place the new one; the first changes nothing.

    They are all there are up to 128. Of more, those that leave the first few places as they are.
    """
    count, edges = len(shape.places), set(shape.edges)
    found: list[tuple[int, ...]] = [()]
    for place in range(count):
        found = [
            (*image, to)
            for image in found
            for to in range(count)
            if to not in image
            and all(((k, place) in edges) == ((min(at, to), max(at, to)) in edges) for k, at in enumerate(image))
        ]
    for place in range(count):
        if len(found) > _MOST:
            found = [image for image in found if image[place] == place]
    return found


def turned(holders: int, image: Sequence[int]) -> int:
    """Who holds the territories after a symmetry; bit k of a number of holders is set where k is the mover's."""
    return sum((holders >> place & 1) << to for place, to in enumerate(image))
