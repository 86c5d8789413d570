"""The registry of games, by name. A new game is one new file and one line here.

base.py is the contract of a game, simultaneous.py that of games in which several seats move at once. poker.py is
what both pokers share, parsing.py reads configs and moves. `shared_game` shares the rules of equal configs.

Evaluation, search kernels and exact graders have registries of their own: bots.evaluation, bots.search.kernels,
machine.exact.graders. Code that serves, plays or searches games knows no particular game.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from protocol.errors import UnknownGame
from protocol.games.base import Game

_REGISTRY = {
    "nim": "protocol.games.nim:Nim",
    "grundy": "protocol.games.grundy:Grundy",
    "tictactoe": "protocol.games.tictactoe:TicTacToe",
    "risk-duel": "protocol.games.risk.duel:Duel",
    "risk-campaign": "protocol.games.risk.campaign:Campaign",
    "dilemma": "protocol.games.dilemma:Dilemma",
    "kuhn": "protocol.games.kuhn:Kuhn",
    "leduc": "protocol.games.leduc:Leduc",
}
"""The module and class of each game, by the game's name."""
GAME_NAMES = tuple(_REGISTRY)
"""The names of all games."""
_pack = msgspec.msgpack.Encoder(order="deterministic").encode
_shared_games: WeakValueDictionary[tuple[str, bytes], Game[Any, Any]] = WeakValueDictionary()


def is_known_game(name: str) -> bool:
    return name in _REGISTRY


def missing_rules_message(name: str) -> str:
    """Return the sentence about stored matches of a game whose rules this arena does not have."""
    return f"this arena does not have the rules of {name[:40]}"


def game_class(name: str) -> type[Game[Any, Any]]:
    """Return the class of a game. Raise `UnknownGame` for an unknown name."""
    where = _REGISTRY.get(name)
    if where is None:
        raise UnknownGame(f"there is no game {name[:40]!r}: one of {', '.join(GAME_NAMES)}")
    found: type[Game[Any, Any]] = resolve_name(where)
    return found


def payoff_unit(name: str) -> str:
    """Return the unit of a game's payoffs, such as `round`; empty without payoffs, or for an unknown game."""
    return game_class(name).payoff_unit if name in _REGISTRY else ""


def default_preset(name: str) -> str:
    """Return the preset of a game that is played without a config. Raise `UnknownGame` for an unknown name."""
    return next(iter(game_class(name).presets))


def load_game(name: str, config: Mapping[str, Any] | None = None) -> Game[Any, Any]:
    """Return a game under a config; without one, under its default preset. Raise `UnknownGame` or `BadConfig` if the
    name or the config is invalid.
    """
    return game_class(name)(config or {"preset": default_preset(name)})


def config_keys(name: str) -> tuple[str, ...]:
    """Return all keys of a game's configs, even if configs may omit them. Raise `UnknownGame` for an unknown name."""
    return tuple(dict.fromkeys((*load_game(name).config, *game_class(name).late_keys)))


def shared_game(game: str, config: Mapping[str, Any]) -> Game[Any, Any]:
    """Return what `load_game` returns, but one object for all matches with an equal config. A large map is then read
    and held only once. Raise `UnknownGame` or `BadConfig` if `load_game` does.
    """
    key = game, _pack(config)
    rules = _shared_games.get(key)
    if rules is None:
        rules = _shared_games[key] = load_game(game, config)
    return rules
