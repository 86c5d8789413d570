"""The bots that packages offer as entry points, and which of them play a game."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from protocol.bot_launch import REFERENCE_BOTS

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@functools.cache
def find_installed() -> Mapping[str, EntryPoint]:
    """Return the entry points of bots by name. They are read once, because reading all packages takes 10 ms."""
    from importlib.metadata import entry_points  # 10 ms more, which programs of bots and workers do not need

    return {entry.name: entry for entry in entry_points(group=REFERENCE_BOTS)}


def players_of(game: str) -> list[str]:
    """Return the names of the installed bots that play a game. This imports all installed bots."""
    found = []
    for name, entry in find_installed().items():
        with contextlib.suppress(ImportError):
            if game in entry.load().games:
                found.append(name)
    return sorted(found)
