"""The names of rating pools: `nim/classic`, and `nim/classic:people` for matches with people in them."""

from __future__ import annotations

_PEOPLE_SUFFIX = ":people"
"""The end of the name of a pool for matches with people."""


def people_pool(pool: str) -> str:
    """Return the pool of a preset's matches with people, given the pool of its other matches."""
    return pool + _PEOPLE_SUFFIX


def is_people_pool(pool: str) -> bool:
    """Return whether a pool is for matches with people."""
    return pool.endswith(_PEOPLE_SUFFIX)


def preset_pool(pool: str) -> str:
    """Return the pool of a preset's matches between bots. `pool` is this pool, or the pool of the preset's matches with
    people.
    """
    return pool.removesuffix(_PEOPLE_SUFFIX)
