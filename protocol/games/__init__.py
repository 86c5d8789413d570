"""The registry: a game's name and where its rules are. Adding a game is one new file and one line here.

What else there is for a game is registered by its name where it lives: bots.evaluation, bots.search.kernels,
machine.exact.graders. Who serves, plays or searches any game knows none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from protocol.errors import UnknownGame
from protocol.games.base import Game

_WHERE = {
    "nim": "protocol.games.nim:Nim",
    "grundy": "protocol.games.grundy:Grundy",
    "tictactoe": "protocol.games.tictactoe:TicTacToe",
    "risk-duel": "protocol.games.risk.duel:Duel",
    "risk-campaign": "protocol.games.risk.campaign:Campaign",
}
NAMES = tuple(_WHERE)


def game_class(name: str) -> type[Game[Any, Any]]:
    """The rules called `name`. Raises `UnknownGame`, listing those there are."""
    where = _WHERE.get(name)
    if where is None:
        raise UnknownGame(f"there is no game {name[:40]!r}: one of {', '.join(NAMES)}")
    found: type[Game[Any, Any]] = resolve_name(where)
    return found


def load(name: str, config: Mapping[str, Any] | None = None) -> Game[Any, Any]:
    """The game called `name` under `config`. Raises `UnknownGame` or `BadConfig`."""
    return game_class(name)(config or {})
