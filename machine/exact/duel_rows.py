"""Rows of full boards of bounded Risk, and the moves of a row.

A row holds all boards with the same troops on each territory; the index in the row says who holds which territory. Of
the rows that symmetries of the map turn into each other only one is stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from machine.compiled import compiled, entry, ints, zeros
from machine.exact.duel_shape import Shape, apply_symmetry, symmetries
from protocol.games.risk.duel import DEFAULT_INVASION_TROOPS, REINFORCEMENT_TROOPS

SYMMETRY_BITS = 7
"""A spot is the index of a row, shifted by this many bits; the low bits hold the index of a symmetry."""
SYMMETRY_MASK = (1 << SYMMETRY_BITS) - 1
REINFORCEMENT_KIND, ATTACK_KIND, EQUAL_ATTACK_KIND = 0, 1, 2
MOVE_SIZE = 6
"""The number of integers that encode a move.

They are its kind (one of the three above), its index in `build_masks`, the spot that it leads to and the bit of the
territory it takes; for an attack also the spot after a failure, and the bit of the territory which that frees.
"""


class BoardRows(NamedTuple):
    """Flat integer arrays that describe the rows of a map.

    A row's number has a digit for each territory, in base `cap`: its troops, counted down from the cap. So reinforcing
    leads to a lower number.
    """

    heads: Any
    """The numbers of the stored rows, ascending."""
    spots: Any
    """The spot of the stored row that represents each row number, with the symmetry that leads there."""
    holders: Any
    """The set of territories held (as bits) after a symmetry, by symmetry and by the set before; unsigned, 32 bits."""


def build_rows(shape: Shape) -> BoardRows:
    """Return the rows of a map; this takes seconds for the largest."""
    import numpy

    count = len(shape.places)
    images = symmetries(shape)
    weights = ints(shape.cap ** image[place] for image in images for place in range(count))
    heads, spots = zeros(shape.cap**count), zeros(shape.cap**count)
    kept = number_rows(heads, spots, shape.cap, weights, zeros(count))
    holders = ints(apply_symmetry(held, image) for image in images for held in range(1 << count))
    return BoardRows(heads[:kept].copy(), spots, holders.astype(numpy.uint32))


@entry
def number_rows(heads: Any, spots: Any, cap: int, weights: Any, digits: Any) -> int:
    """Fill `heads` and `spots`, and return the number of stored rows. `digits` must be 0 and are 0 afterwards."""
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
            spots[number] = kept << SYMMETRY_BITS
            kept += 1
        else:
            spots[number] = (spots[least] >> SYMMETRY_BITS << SYMMETRY_BITS) + turn
        k = 0
        while k < count and digits[k] == cap - 1:
            digits[k] = 0
            k += 1
        if k < count:
            digits[k] += 1
    return kept


def build_masks(shape: Shape) -> Any:
    """Return a mask for each move on a map, in the order of `fill_moves`, and for each set of territories held.

    It is 0 if the side that holds them can make the move, else minus infinity: a flat array of 64-bit floats.
    """
    import numpy

    held = numpy.arange(1 << len(shape.places))
    can = [held >> place & 1 for place in range(len(shape.places))]
    can += [can[source] & ~can[to] for edge in shape.edges for source, to in (edge, edge[::-1])]
    return numpy.concatenate([numpy.where(able, 0.0, -numpy.inf) for able in can])


# A board with a free territory needs no value: its invasion follows every attack that leaves one.


@compiled
def fill_moves(number: int, cap: int, ends: Any, spots: Any, scratch: Any, moves: Any) -> int:
    """Fill `moves` with the moves of a row, and return the number of integers written.

    `ends` lists each border in both directions, as source and target. `scratch` is scratch space of two integers for
    each territory.
    """
    weight = 1
    for k in range(0, len(scratch), 2):
        scratch[k] = weight
        scratch[k + 1] = cap - number // weight % cap
        weight *= cap
    at = 0
    for k in range(0, len(scratch), 2):
        more = min(REINFORCEMENT_TROOPS, cap - scratch[k + 1])
        if more > 0:
            moves[at] = REINFORCEMENT_KIND
            moves[at + 1] = k // 2
            moves[at + 2] = spots[number - more * scratch[k]]
            moves[at + 3] = 0
            at += MOVE_SIZE
    for end in range(0, len(ends), 2):
        source = 2 * ends[end]
        to = 2 * ends[end + 1]
        strength = scratch[source + 1]
        defence = scratch[to + 1]
        if strength >= defence:
            lost = defence if strength > defence else strength - DEFAULT_INVASION_TROOPS
            moves[at] = ATTACK_KIND if strength > defence else EQUAL_ATTACK_KIND
            moves[at + 1] = (len(scratch) + end) // 2
            moves[at + 2] = spots[number + (defence - 1) * scratch[to]]
            moves[at + 3] = 1 << to // 2
            moves[at + 4] = spots[number + lost * scratch[source]]
            moves[at + 5] = 0 if strength > defence else 1 << source // 2
            at += MOVE_SIZE
    return at
