"""The transposition table: what a search remembers of a position that may be met again by another way."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal, NamedTuple

Bound = Literal["exact", "lower", "upper"]


class Entry(NamedTuple):
    """What is known of a position: its value, or a bound on it, as seen from the position itself."""

    value: float
    bound: Bound
    depth: int
    """How far below it was searched."""
    complete: bool
    """Every line searched ended with the game, so the value holds for any greater depth too."""
    line: tuple[Any, ...]


class TranspositionTable:
    """Positions by key. When `most` are held it forgets all and begins anew."""

    def __init__(self, most: int = 50_000) -> None:
        self._most = most
        self._entries: dict[Hashable, Entry] = {}
        self.chance = False
        """A move with more than one result was seen: values hold for an equal distance from the root only."""

    def get(self, key: Hashable) -> Entry | None:
        return self._entries.get(key)

    def put(self, key: Hashable, entry: Entry) -> None:
        if len(self._entries) >= self._most:
            self._entries.clear()
        self._entries[key] = entry

    def clear(self) -> None:
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)


def from_here(value: float, ply: int) -> float:
    """A value counted from the root, as seen `ply` plies below it: there a win is that much nearer."""
    return value + ply if value >= 1 else value - ply if value <= -1 else value


def from_root(value: float, ply: int) -> float:
    """The inverse of `from_here`."""
    return value - ply if value >= 1 else value + ply if value <= -1 else value
