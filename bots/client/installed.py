"""The bots that packages offer by name, as entry points, and which of them play a game."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from protocol.bot_launch import REFERENCE_BOTS


@functools.cache
def installed() -> Mapping[str, EntryPoint]:
    """Return where each is, by its name: looked up once, as reading what all packages offer takes 10 ms."""
    return {entry.name: entry for entry in entry_points(group=REFERENCE_BOTS)}


def players_of(game: str) -> list[str]:
    """The names of those that play a game; all are imported for it."""
    found = []
    for name, entry in installed().items():
        with contextlib.suppress(ImportError):
            if game in entry.load().games:
                found.append(name)
    return sorted(found)
