"""A map: territories with places to draw them, continents, borders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

EXTENT = 100
_LONG = 24


class Territory(NamedTuple):
    """`continent` is an index; `x` and `y`, 0 to 100, say where to draw it: x to the right, y downwards.

    They are integers: a config is hashed, and a float has no single spelling.
    """

    name: str
    continent: int
    x: int
    y: int


class Continent(NamedTuple):
    """`bonus` is what holding all of it adds to a classic draft."""

    name: str
    bonus: int


@dataclass(frozen=True)
class Board:
    """A connected map of 2 to 100 territories. Everything refers to a territory by its index."""

    name: str
    territories: tuple[Territory, ...]
    continents: tuple[Continent, ...]
    borders: tuple[tuple[int, int], ...]
    """Each once, the lower index first, in ascending order."""

    def __len__(self) -> int:
        return len(self.territories)

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """By territory, those it shares a border with, in ascending order."""
        found: list[list[int]] = [[] for _ in self.territories]
        for a, b in self.borders:
            found[a].append(b)
            found[b].append(a)
        return tuple(tuple(sorted(others)) for others in found)

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """By continent, its territories."""
        found: list[list[int]] = [[] for _ in self.continents]
        for index, territory in enumerate(self.territories):
            found[territory.continent].append(index)
        return tuple(map(tuple, found))

    @cached_property
    def wire(self) -> dict[str, Any]:
        """The map as it travels, and as a file may hold it."""
        return {
            "name": self.name,
            "territories": [territory._asdict() for territory in self.territories],
            "continents": [continent._asdict() for continent in self.continents],
            "borders": [list(border) for border in self.borders],
        }

    def label(self, territory: int) -> str:
        """A territory for a message: its index and its name, a long one cut short."""
        name = self.territories[territory].name
        return f"{territory} ({name if len(name) <= _LONG else name[: _LONG - 1] + '…'})"
