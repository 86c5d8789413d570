"""Games that the arena knows for the time of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from protocol.games import register_game, remove_game
from protocol.games.spec import GameSpec

TABLE_GAMES = tuple(
    GameSpec(name, "referee_table", f"referee_table:{name.capitalize()}") for name in ("dibs", "heaps", "bids")
)
"""The games of `referee_table`, for three seats."""


@contextmanager
def registered(*specs: GameSpec) -> Iterator[None]:
    for spec in specs:
        register_game(spec)
    try:
        yield
    finally:
        for spec in specs:
            remove_game(spec.name)
