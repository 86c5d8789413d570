"""The maps of the project, which are TOML files in this package, and functions that find the map of a config."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from games.risk.rules.board import Board, check_connected, parse_map
from protocol.config_values import FileTable
from protocol.display import short_repr
from protocol.errors import BadConfig

MAP_NAMES = (
    "south-america",
    "australia",
    "africa",
    "europe",
    "north-america",
    "asia",
    "world",
    "grid-6x6",
    "grid-10x10",
)
"""The names of the maps in this package."""


def find_map(value: Any, game: str = "map") -> Board:
    """Return the map that `value` names or describes. Raise `BadConfig` for an unknown name or an invalid map. The
    error message begins with `game`, followed by the name of the map's file if `value` comes from a file.
    """
    if isinstance(value, str):
        if value.endswith((".toml", ".json")):
            raise BadConfig(f"{game}: there is no map {short_repr(value)}: to use a file, write map=@my.toml")
        if value not in MAP_NAMES:
            known = ", ".join(MAP_NAMES)
            raise BadConfig(f"{game}: there is no map {short_repr(value)}: one of {known}, or a file: map=@my.toml")
        return load_map(value)
    if not isinstance(value, Mapping):
        raise BadConfig(f"{game}: map is {short_repr(value)}: it must be a name or a table of territories and borders")
    where = f"{game}: in {value.file}" if isinstance(value, FileTable) else game
    board = parse_map(value, where)
    if board.name in MAP_NAMES and board == load_map(board.name):  # every match carries its map
        return load_map(board.name)
    check_connected(board, where)
    return board


@cache
def load_map(name: str) -> Board:
    """Load the map with this name, one of `MAP_NAMES`. All these maps are connected."""
    return parse_map(tomllib.loads(resources.files(__name__).joinpath(f"{name}.toml").read_text("utf-8")), name)
