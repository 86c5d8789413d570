"""The names of rating pools: `nim/classic`, and `nim/classic:people` for matches with people in them."""

from __future__ import annotations

_OF_PEOPLE = ":people"


def people_pool(pool: str) -> str:
    """Return the pool of a preset's matches with people, from the preset's own pool."""
    return pool + _OF_PEOPLE


def is_of_people(pool: str) -> bool:
    """Return whether a pool is for matches with people."""
    return pool.endswith(_OF_PEOPLE)


def without_people(pool: str) -> str:
    """Return the preset's own pool for either of its pools."""
    return pool.removesuffix(_OF_PEOPLE)
