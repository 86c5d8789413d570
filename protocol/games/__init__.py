"""The registry: a game's name and where its rules are. Adding a game is one new file and one line here.

What else there is for a game is registered by its name where it lives: bots.evaluation, bots.search.kernels,
machine.exact.graders. Who serves, plays or searches any game knows none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from protocol.errors import UnknownGame
from protocol.games.base import Game

_WHERE = {
    "nim": "protocol.games.nim:Nim",
    "grundy": "protocol.games.grundy:Grundy",
    "tictactoe": "protocol.games.tictactoe:TicTacToe",
    "risk-duel": "protocol.games.risk.duel:Duel",
    "risk-campaign": "protocol.games.risk.campaign:Campaign",
    "dilemma": "protocol.games.dilemma:Dilemma",
    "kuhn": "protocol.games.kuhn:Kuhn",
    "leduc": "protocol.games.leduc:Leduc",
}
NAMES = tuple(_WHERE)
_pack = msgspec.msgpack.Encoder(order="deterministic").encode
_in_use: WeakValueDictionary[tuple[str, bytes], Game[Any, Any]] = WeakValueDictionary()


def game_class(name: str) -> type[Game[Any, Any]]:
    """The rules called `name`. Raises `UnknownGame`, listing those there are."""
    where = _WHERE.get(name)
    if where is None:
        raise UnknownGame(f"there is no game {name[:40]!r}: one of {', '.join(NAMES)}")
    found: type[Game[Any, Any]] = resolve_name(where)
    return found


def payoff_unit(name: str) -> str:
    """What payoffs are counted by in the game called `name`, as `round`; empty where ranks are the result, and for a
    game that there is none of.
    """
    return game_class(name).payoff_unit if name in _WHERE else ""


def default_preset(name: str) -> str:
    """The preset that is played where nobody names a config. Raises `UnknownGame`."""
    return next(iter(game_class(name).presets))


def load(name: str, config: Mapping[str, Any] | None = None) -> Game[Any, Any]:
    """The game called `name` under `config`, or under its default preset where that names nothing. Raises `UnknownGame`
    or `BadConfig`.
    """
    return game_class(name)(config or {"preset": default_preset(name)})


def config_keys(name: str) -> tuple[str, ...]:
    """The keys of a game's configs, also those that a config at their defaults leaves out. Raises `UnknownGame`."""
    return tuple(dict.fromkeys((*load(name).config, *game_class(name).late_keys)))


def rules_of(game: str, config: Mapping[str, Any]) -> Game[Any, Any]:
    """The same, shared by all matches under equal configs as long as somebody holds it, as rules never change: a large
    map is read once and held once. Raises `UnknownGame` or `BadConfig`.
    """
    key = game, _pack(config)
    rules = _in_use.get(key)
    if rules is None:
        rules = _in_use[key] = load(game, config)
    return rules
