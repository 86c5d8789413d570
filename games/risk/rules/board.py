"""Maps: territories with coordinates, continents and borders, and how to parse a map. A map's description is a table
from a file or a message. Every part of it is validated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from protocol.display import short_repr
from protocol.errors import BadConfig

MAX_COORDINATE = 100
"""Maximum x and y of a territory on a map."""
_MAX_LABEL_CHARS = 24
"""Maximum characters of a territory's name in an error message."""
MIN_TERRITORIES, MAX_TERRITORIES = 2, 100
"""`MIN_TERRITORIES` and `MAX_TERRITORIES` limit the number of territories of a map."""
MAX_BORDERS = 1000
"""Maximum number of borders of a map. They fit in a message. A planar map of 100 territories has fewer than 300."""
MAX_BONUS = 100
"""Maximum bonus of a continent, and maximum sum of a map's bonuses. Battles of larger armies would delay other matches.
"""
MAX_NAME_CHARS = 40
"""Maximum characters in the name of a territory or continent."""


class Territory(NamedTuple):
    """A territory. `continent` is the index of its continent. Its coordinates `x` (to the right) and `y` (downwards)
    are integers from 0 to 100, because a config is hashed and a float has no unique spelling.
    """

    name: str
    continent: int
    x: int
    y: int


class Continent(NamedTuple):
    """A continent. A seat with all its territories gets `bonus` additional units in a classic draft."""

    name: str
    bonus: int


@dataclass(frozen=True)
class Board:
    """A connected map of 2 to 100 territories. Code refers to a territory by its index."""

    name: str
    territories: tuple[Territory, ...]
    continents: tuple[Continent, ...]
    borders: tuple[tuple[int, int], ...]
    """The pairs of territories with a border, each once, the lower index first, in ascending order."""

    def __len__(self) -> int:
        return len(self.territories)

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """The neighbours of each territory, in ascending order."""
        found: list[list[int]] = [[] for _ in self.territories]
        for a, b in self.borders:
            found[a].append(b)
            found[b].append(a)
        return tuple(tuple(sorted(others)) for others in found)

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The territories of each continent."""
        found: list[list[int]] = [[] for _ in self.continents]
        for index, territory in enumerate(self.territories):
            found[territory.continent].append(index)
        return tuple(map(tuple, found))

    @cached_property
    def encoded(self) -> dict[str, Any]:
        """The map as a dict of JSON values. Messages carry maps in this form, and a map file may have it, too."""
        return {
            "name": self.name,
            "territories": [territory._asdict() for territory in self.territories],
            "continents": [continent._asdict() for continent in self.continents],
            "borders": [list(border) for border in self.borders],
        }

    def label(self, territory: int) -> str:
        """Return the index and the name of a territory, for error messages. A long name is cut."""
        name = self.territories[territory].name
        return f"{territory} ({name if len(name) <= _MAX_LABEL_CHARS else name[: _MAX_LABEL_CHARS - 1] + '…'})"


def parse_map(value: Mapping[str, Any], where: str) -> Board:
    """Parse a map, connected or not. Raise `BadConfig`, whose message begins with `where`, if it is invalid."""
    return _MapParser(where).board(value)


def check_connected(board: Board, where: str) -> None:
    """Raise `BadConfig`, whose message begins with `where`, if parts of the map are not connected."""
    parts = _connected_components(board)
    if len(parts) > 1:
        one, other = (board.territories[min(part)].name for part in parts[:2])
        raise BadConfig(f"{where}: the map has {len(parts)} separate parts: no path leads from {one} to {other}")


def _connected_components(board: Board) -> list[set[int]]:
    """Return the connected components of a map. A graph library is not used: its import would take a third of a second,
    and a map may arrive while other matches are played.
    """
    parts: list[set[int]] = []
    for start in range(len(board)):
        if not any(start in part for part in parts):
            part, waiting = {start}, [start]
            while waiting:
                near = set(board.neighbours[waiting.pop()]) - part
                part |= near
                waiting += near
            parts.append(part)
    return parts


class _MapParser:
    """A parser of one map. It raises `BadConfig`, with a message of one line, for any error."""

    def __init__(self, where: str) -> None:
        self._where = where

    def board(self, value: Mapping[str, Any]) -> Board:
        self._keys(value, "map", "name", "territories", "continents", "borders")
        name = self._name(value["name"], "map.name")
        tables = self._rows(value["continents"], "continents", 1, MAX_TERRITORIES)
        continents = [self._continent(row, f"continents[{i}]") for i, row in enumerate(tables)]
        bonuses = sum(continent.bonus for continent in continents)
        if bonuses > MAX_BONUS:
            self._bad(f"the bonuses add up to {bonuses}: at most {MAX_BONUS}")
        find_continent = self._finder("continent", "continents", [continent.name for continent in continents])
        tables = self._rows(value["territories"], "territories", MIN_TERRITORIES, MAX_TERRITORIES)
        territories = [self._territory(row, f"territories[{i}]", find_continent) for i, row in enumerate(tables)]
        find = self._finder("territory", "territories", [territory.name for territory in territories])
        board = Board(name, tuple(territories), tuple(continents), self._borders(value["borders"], find))
        for continent, members in zip(continents, board.members, strict=True):
            if not members:
                self._bad(f"the continent {continent.name} has no territory")
        return board

    def _continent(self, row: Mapping[str, Any], where: str) -> Continent:
        self._keys(row, where, "name", "bonus")
        bonus = self._integer(row["bonus"], f"{where}.bonus", MAX_BONUS)
        return Continent(self._name(row["name"], f"{where}.name"), bonus)

    def _territory(self, row: Mapping[str, Any], where: str, continent: Callable[[Any, str], int]) -> Territory:
        self._keys(row, where, "name", "continent", "x", "y")
        x, y = (self._integer(row[axis], f"{where}.{axis}", MAX_COORDINATE) for axis in ("x", "y"))
        name = self._name(row["name"], f"{where}.name")
        return Territory(name, continent(row["continent"], f"{where}.continent"), x, y)

    def _borders(self, value: Any, find: Callable[[Any, str], int]) -> tuple[tuple[int, int], ...]:
        if not isinstance(value, (list, tuple)):
            self._bad(f"borders is {short_repr(value)}: it must be a list of pairs of territories")
        seen: dict[tuple[int, int], int] = {}
        if len(value) > MAX_BORDERS:
            self._bad(f"there are {len(value)} borders: at most {MAX_BORDERS}")
        for i, pair in enumerate(value):
            where = f"borders[{i}]"
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                self._bad(f"{where} is {short_repr(pair)}: it must be a pair of territories")
            a, b = find(pair[0], where), find(pair[1], where)
            if a == b:
                self._bad(f"{where} is a border of {short_repr(pair[0])} with itself")
            border = (a, b) if a < b else (b, a)
            if border in seen:
                self._bad(f"{where} repeats borders[{seen[border]}]: list each border once")
            seen[border] = i
        return tuple(sorted(seen))

    def _finder(self, what: str, rows: str, names: Sequence[str]) -> Callable[[Any, str], int]:
        """Return a function that finds the index of a territory or a continent by its name or index. Raise `BadConfig`
        if names are not unique.
        """
        index: dict[Any, int] = {}
        for i, name in enumerate(names):
            if name in index:
                self._bad(f"{rows}[{index[name]}] and {rows}[{i}] are both called {name}")
            index[name] = i

        def find(value: Any, where: str) -> int:
            if type(value) is int and 0 <= value < len(names):
                return value
            if isinstance(value, str) and value in index:
                return index[value]
            right = f"a name or 0 to {len(names) - 1}"
            return self._bad(f"{where} names the {what} {short_repr(value)}, which does not exist: give {right}")

        return find

    def _rows(self, value: Any, where: str, fewest: int, most: int) -> Sequence[Mapping[str, Any]]:
        if not isinstance(value, (list, tuple)) or not all(isinstance(row, Mapping) for row in value):
            self._bad(f"{where} is {short_repr(value)}: it must be a list of tables")
        if not fewest <= len(value) <= most:
            self._bad(f"there are {len(value)} {where}: {fewest} to {most}")
        return value

    def _keys(self, value: Mapping[str, Any], where: str, *keys: str) -> None:
        missing = [f"no {key}" for key in keys if key not in value]
        unknown = [f"a key {short_repr(key)}" for key in value if key not in keys]
        if missing or unknown:
            self._bad(f"{where} has {' but '.join(missing[:1] + unknown[:1])}: its keys are {', '.join(keys)}")

    def _name(self, value: Any, where: str) -> str:
        if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME_CHARS or not value.isprintable():
            self._bad(f"{where} is {short_repr(value)}: it must have 1 to {MAX_NAME_CHARS} printable characters")
        return value

    def _integer(self, value: Any, where: str, most: int) -> int:
        if type(value) is not int or not 0 <= value <= most:
            self._bad(f"{where} is {short_repr(value)}: it must be an integer from 0 to {most}")
        return value

    def _bad(self, what: str) -> NoReturn:
        raise BadConfig(f"{self._where}: {what}")
