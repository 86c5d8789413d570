"""Full boards of bounded Risk in rows: what stands on each territory is a row, who holds which a place in it.

Of the rows that symmetries turn into each other one is kept.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from machine.compiled import entry, ints, zeros
from machine.exact.duel_shape import Shape
from machine.exact.duel_symmetries import symmetries, turned

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
