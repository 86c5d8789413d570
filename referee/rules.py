"""The rules that matches are played by. They never change, so matches under equal configs share them: a large map is
read once and held once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from protocol.games import load
from protocol.games.base import Game

_pack = msgspec.msgpack.Encoder(order="deterministic").encode
_in_use: WeakValueDictionary[tuple[str, bytes], Game[Any, Any]] = WeakValueDictionary()


def rules_of(game: str, config: Mapping[str, Any]) -> Game[Any, Any]:
    """The game called `game` under `config`, as long as somebody holds it. Raises `UnknownGame` or `BadConfig`."""
    key = game, _pack(config)
    rules = _in_use.get(key)
    if rules is None:
        rules = _in_use[key] = load(game, config)
    return rules
