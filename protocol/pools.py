"""The names of rating pools: `nim/classic`, and `nim/classic:people` for matches with people in them. A game that does
not come with bot-arena has pools for each version of its rules: `race/classic` for version 1, `race/classic:v2` for
version 2.
"""

from __future__ import annotations

import re
from typing import Any

FIRST_VERSION = "1"
"""The version of rules whose pools do not name it. Built-in games have this version."""
VERSION_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,19}"
"""The pattern of a version of rules. It has no colon, because names of pools have one before the version."""
VERSION_DESCRIPTION = "1 to 20 letters, digits, dots, - and _"
"""The pattern of a version in words."""
_is_version = re.compile(VERSION_PATTERN).fullmatch
_PEOPLE_SUFFIX = ":people"
"""The end of the name of a pool for matches with people."""
_VERSION_PREFIX = ":v"
"""The beginning of the part of a pool's name that has the version."""


def is_rules_version(version: Any) -> bool:
    """Return whether a value can be the version of rules."""
    return isinstance(version, str) and _is_version(version) is not None


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


def preset_of(pool: str) -> str:
    """Return the preset of a pool: `classic` for `race/classic:v2:people`. `pool` may also lack the game."""
    return preset_pool(pool).rpartition("/")[2].partition(_VERSION_PREFIX)[0]


def version_of(pool: str) -> str:
    """Return the version of the rules whose matches a pool rates. `pool` may also lack the game."""
    return preset_pool(pool).partition(_VERSION_PREFIX)[2] or FIRST_VERSION


def with_version(pool: str, version: str) -> str:
    """Return the pool for another version of the rules."""
    own, kind, _ = pool.partition(_PEOPLE_SUFFIX)
    base = own.partition(_VERSION_PREFIX)[0]
    return base + ("" if version == FIRST_VERSION else _VERSION_PREFIX + version) + kind
