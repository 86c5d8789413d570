"""Full boards of bounded Risk in rows: what stands on each territory is a row, who holds which a place in it.

Of the rows that symmetries turn into each other one is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from machine.compiled import entry, ints, zeros
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


TURN_BITS = 7
"""A spot is the index of a row, and in so many bits below it that of a symmetry."""


class BoardRows(NamedTuple):
    """A row's number has a digit for each territory, in base `cap`: its troops, counted down from the cap. So to
    reinforce leads to a lower number. All are flat arrays of 64-bit integers.
    """

    heads: Any
    """The numbers of the rows that are kept, ascending."""
    spots: Any
    """By number, the spot of the row that is kept for it, with the symmetry that leads there."""
    holders: Any
    """By symmetry, then by who holds the territories, who does after it."""


def rows_of(shape: Shape) -> BoardRows:
    """The rows of a map; seconds for the largest."""
    count = len(shape.places)
    images = symmetries(shape)
    weights = ints(shape.cap ** image[place] for image in images for place in range(count))
    heads, spots = zeros(shape.cap**count), zeros(shape.cap**count)
    kept = number_rows(heads, spots, shape.cap, weights, zeros(count))
    return BoardRows(
        heads[:kept].copy(), spots, ints(turned(held, image) for image in images for held in range(1 << count))
    )


def both_ways(shape: Shape) -> Any:
    """Each border twice, as two places: where an attack comes from and where it goes."""
    return ints(itertools.chain(*(pair for a, b in shape.edges for pair in ((a, b), (b, a)))))


@entry
def number_rows(heads: Any, spots: Any, cap: int, weights: Any, digits: Any) -> int:
    """Fill `heads` and `spots`; how many rows are kept. `digits` begin and end at 0."""
    count = len(digits)
    kept = 0
    for number in range(len(spots)):
        least = number
        turn = 0
        for first in range(0, len(weights), count):
            image = 0
            for k in range(count):
                image += digits[k] * weights[first + k]
            if image < least:
                least = image
                turn = first // count
        if least == number:
            heads[kept] = number
            spots[number] = kept << TURN_BITS
            kept += 1
        else:
            spots[number] = (spots[least] >> TURN_BITS << TURN_BITS) + turn
        k = 0
        while k < count and digits[k] == cap - 1:
            digits[k] = 0
            k += 1
        if k < count:
            digits[k] += 1
    return kept
