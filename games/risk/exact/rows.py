"""Rows of full boards of bounded Risk, and the moves of a row.

A row holds all boards with the same troops on each territory. The index of a board in its row is the set of territories
that one side holds. If symmetries of the map turn rows into each other, only one of these rows is stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from games.risk.exact.shape import Shape, apply_symmetry, symmetries
from games.risk.rules.duel import DEFAULT_INVASION_TROOPS, REINFORCEMENT_TROOPS
from machine.compiled import compiled, entry, ints, zeros

SYMMETRY_BITS = 7
"""Number of low bits of a spot that hold the index of a symmetry. The bits above them hold the index of a stored row.

A spot is a number that tells where to find the values of a row: in this stored row, with this symmetry applied.
"""
SYMMETRY_MASK = (1 << SYMMETRY_BITS) - 1
"""The mask of the low bits of a spot that hold the index of a symmetry. `SYMMETRY_BITS` explains spots."""
REINFORCEMENT_KIND, ATTACK_KIND, EQUAL_ATTACK_KIND = 0, 1, 2
"""These are the kinds of encoded moves:

- REINFORCEMENT_KIND: a reinforcement.
- ATTACK_KIND: an attack from a territory with more troops than the target.
- EQUAL_ATTACK_KIND: an attack from a territory with as many troops as the target. If it fails, the attacking territory
  loses its troops and its owner, and the opponent must invade it next.
"""
MOVE_SIZE = 6
"""Number of integers that an encoded move takes. They are, in this order:

- the kind of the move, such as `ATTACK_KIND`;
- the index of the move among the masks of `build_masks`;
- the spot of the row after the move (see `SYMMETRY_BITS`), for an attack after its success;
- the bit of the territory that the move takes (0 for none);
- for an attack, the spot of the row after its failure, and after the invasion that may follow;
- for an attack, the bit of the territory that is then invaded (0 for none).
"""


class BoardRows(NamedTuple):
    """Flat integer arrays that describe the rows of a map. A row is all full boards with the same troops on each
    territory.

    The number of a row has a digit for each territory, in base `cap`: `cap` minus the troops. So a reinforcement leads
    to a lower number.
    """

    heads: Any
    """The numbers of the rows that are stored, in ascending order."""
    spots: Any
    """The spot of each row, by the row's number. It names the stored row that has the same values, and the symmetry
    that turns one into the other (see `SYMMETRY_BITS`).
    """
    holders: Any
    """holders[symmetry, set] is the set of territories that `set` becomes under the symmetry. A set is an unsigned
    32-bit integer with a bit for each territory.
    """


def build_rows(shape: Shape) -> BoardRows:
    """Return the `BoardRows` of a map. This takes seconds for the largest maps."""
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
    """Choose the rows to store, fill the arrays `heads` and `spots` of `BoardRows`, and return the number of stored
    rows. A row is stored if no symmetry turns it into a row with a lower number.

    `digits` is scratch space that must be 0 and is 0 afterwards.
    """
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
    """Return a mask for each move on a map. It has a number for each set of territories that a side may hold: 0 if the
    side can make the move, else minus infinity.

    The result is a flat array of 64-bit floats, with the moves in the order of `fill_moves`.
    """
    import numpy

    held = numpy.arange(1 << len(shape.places))
    can = [held >> place & 1 for place in range(len(shape.places))]
    can += [can[source] & ~can[to] for edge in shape.edges for source, to in (edge, edge[::-1])]
    return numpy.concatenate([numpy.where(able, 0.0, -numpy.inf) for able in can])

    # A board with a free territory needs no value: its invasion follows every attack that leaves one.


@compiled
def fill_moves(number: int, cap: int, ends: Any, spots: Any, scratch: Any, moves: Any) -> int:
    """Write the encoded moves (see `MOVE_SIZE`) on the boards of a row to `moves`, and return the number of integers
    written.

    `number` is the row's number, from which the troops on each territory follow (see `BoardRows`). `ends` lists each
    border in both directions, as source and target. `scratch` is scratch space of two integers for each territory.
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
