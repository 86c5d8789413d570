"""How games read their configs: presets, defaults, values within bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from protocol.display import among, shown
from protocol.errors import BadConfig
from protocol.games.base import Game


def read_config(game: type[Game[Any, Any]], config: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """`config` over its preset (if it names one) over `defaults`. Raises `BadConfig` for an unknown key or preset."""
    given = dict(config)
    base: Mapping[str, Any] = {}
    if "preset" in given:
        preset = given.pop("preset")
        if not isinstance(preset, str) or preset not in game.presets:
            raise BadConfig(f"{game.name} has no preset {shown(preset)}: {among(game.presets)}")
        base = game.presets[preset]
    for key in given:
        if key not in defaults:
            raise BadConfig(f"{game.name} has no config key {shown(key)}: {among((*defaults, 'preset'))}")
    return {**defaults, **base, **given}


def integers(game: str, key: str, value: Any, *, count: tuple[int, int], each: tuple[int, int]) -> tuple[int, ...]:
    """A config value that is a list of integers within bounds; a bare integer is a list of one. Raises `BadConfig`."""
    items = [value] if type(value) is int else value
    (fewest, most), (low, high) = count, each
    if not isinstance(items, (list, tuple)) or not fewest <= len(items) <= most:
        raise BadConfig(f"{game}: {key} is {shown(value)}: it is a list of {fewest} to {most} integers")
    for i, item in enumerate(items):
        if type(item) is not int or not low <= item <= high:
            raise BadConfig(f"{game}: {key}[{i}] is {shown(item)}: it is an integer from {low} to {high}")
    return tuple(items)


def integer(game: str, key: str, value: Any, low: int, high: int) -> int:
    """A config value that is an integer within bounds. Raises `BadConfig`."""
    if type(value) is not int or not low <= value <= high:
        raise BadConfig(f"{game}: {key} is {shown(value)}: it is an integer from {low} to {high}")
    return value


def one_of(game: str, key: str, value: Any, values: Sequence[Any]) -> Any:
    """A config value that is one of a few. Raises `BadConfig`."""
    for known in values:
        if type(value) is type(known) and value == known:
            return value
    raise BadConfig(f"{game}: {key} is {shown(value)}: {among(values)}")
