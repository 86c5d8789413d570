"""The names of rating pools: `nim/classic`, and `nim/classic:people` for the matches in which a person plays."""

from __future__ import annotations

_OF_PEOPLE = ":people"


def people_pool(pool: str) -> str:
    """The pool of a preset's matches with people in them, by the preset's own."""
    return pool + _OF_PEOPLE


def is_of_people(pool: str) -> bool:
    """Whether a pool is one for matches with people."""
    return pool.endswith(_OF_PEOPLE)


def without_people(pool: str) -> str:
    """A preset's own pool, or preset, by that of its matches with people, or by itself."""
    return pool.removesuffix(_OF_PEOPLE)
