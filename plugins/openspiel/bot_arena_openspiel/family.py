"""The games of the family: which of OpenSpiel's games can be played, and a class and a spec for each."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.metadata import distribution
from typing import Any

import pyspiel

from bot_arena_openspiel.rules import GUESSED_GAMES, OpenSpielGame, OpenSpielRounds, OpenSpielTurns
from machine.game_discovery import digest_package
from protocol.display import short_repr
from protocol.errors import UnknownGame
from protocol.games.base import Game
from protocol.games.spec import FAMILY_SEPARATOR, GameSpec

FAMILY_NAME = "openspiel"
"""The family's name, which the names of its games begin with."""
MAX_SEATS = 10
"""The largest number of seats that a game of the family may have."""
MAX_REASON_CHARS = 100
"""Maximum number of characters of OpenSpiel's own reason for which a game can't be loaded."""
Kind = pyspiel.GameType


def find_spec(name: str) -> GameSpec:
    """Return the spec of the game `openspiel:NAME`. Raise `UnknownGame`, with the reason, if it can't be played."""
    short_name = name.partition(FAMILY_SEPARATOR)[2]
    game_class(short_name)
    installed = distribution("open_spiel")
    sources = f"{installed.read_text('RECORD')}\n{digest_package(__name__)}"
    return GameSpec(
        name=name,
        room="bot_arena_openspiel",
        rules=f"{__name__}:{short_name}",
        version=f"open_spiel {installed.version}",
        digest=hashlib.sha256(sources.encode()).hexdigest(),
        encoding="bot_arena_openspiel.encoding:TensorEncoding",
    )


def game_names() -> list[str]:
    """Return the names, without the family's, of all games that can be played."""
    return [name for name in pyspiel.registered_names() if _is_playable(name)]


def _is_playable(short_name: str) -> bool:
    try:
        game_class(short_name)
    except UnknownGame:
        return False
    return True


@cache
def game_class(short_name: str) -> type[OpenSpielGame]:
    """Return the class of a game by OpenSpiel's short name. Raise `UnknownGame`, with the reason, if it can't be
    played.
    """
    name = f"{FAMILY_NAME}{FAMILY_SEPARATOR}{short_name}"
    if short_name not in pyspiel.registered_names():
        raise UnknownGame(f"there is no game {short_repr(name)}: OpenSpiel has {_similar_names(short_name)}")
    try:
        loaded = pyspiel.load_game(short_name)
    except (pyspiel.SpielError, IndexError) as exc:
        reason = " ".join(str(exc).split())[:MAX_REASON_CHARS]
        raise UnknownGame(f"{name} can't be played: OpenSpiel can't load it without parameters: {reason}") from exc
    kind = loaded.get_type()
    if kind.dynamics == Kind.Dynamics.MEAN_FIELD:
        raise UnknownGame(f"{name} can't be played: it is a mean field game, which has no seats")
    if kind.chance_mode == Kind.ChanceMode.SAMPLED_STOCHASTIC:
        raise UnknownGame(f"{name} can't be played: it draws its chance itself, so nobody could check the dice")
    if not 2 <= loaded.num_players() <= MAX_SEATS:
        raise UnknownGame(f"{name} can't be played: it has {loaded.num_players()} seats, not 2 to {MAX_SEATS}")
    base = OpenSpielRounds if kind.dynamics == Kind.Dynamics.SIMULTANEOUS else OpenSpielTurns
    attributes: dict[str, Any] = {
        "__module__": __name__,
        "__doc__": f"{kind.long_name}, by OpenSpiel.",
        "short_name": short_name,
        "parameters": loaded.get_parameters(),
        "name": name,
        "title": re.sub(r"\s+", " ", kind.long_name),
        "about": f"{kind.long_name}, as OpenSpiel plays it.",
        "max_seats": min(kind.max_num_players, MAX_SEATS),
        "payoff_unit": "" if kind.utility in _RANKED_UTILITIES else "round",
        "hidden": kind.information == Kind.Information.IMPERFECT_INFORMATION,
        "has_guesses": short_name in GUESSED_GAMES,
    }
    if not attributes["has_guesses"]:
        attributes["sample_state"] = Game.sample_state  # by which searches know that they can't play it if it hides
    return type(short_name, (base,), attributes)


_RANKED_UTILITIES = (Kind.Utility.ZERO_SUM, Kind.Utility.CONSTANT_SUM)
"""The kinds of payoffs that only say who is ahead."""


def _similar_names(short_name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(short_name[:40], game_names(), n=5, cutoff=0.3)
    return ", ".join(close or game_names()[:5]) + ", …"


def __getattr__(short_name: str) -> type[OpenSpielGame]:
    """Return the class of a game, so that the import path in its spec names it."""
    try:
        return game_class(short_name)
    except UnknownGame as exc:
        raise AttributeError(str(exc)) from exc
