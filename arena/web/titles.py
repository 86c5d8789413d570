"""Titles of games, presets and pools for people. All functions are pure.

The titles are defined beside the rules of each game. Pages tell them to their scripts, see `room_files.describe_games`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from protocol.dice import Dice
from protocol.errors import Fault
from protocol.games import default_preset, game_class, game_names, load_game
from protocol.pools import FIRST_VERSION, is_people_pool, preset_of, version_of


def game_title(game: str) -> str:
    """Return the title of a game, like `Risk: the duel`. The title of an unknown game is its name in words."""
    return game_class(game).title if game in game_names() else _capital(_in_words(game))


def game_about(game: str) -> str:
    """Return a sentence that says what players do in a game, which must be one that this version knows."""
    return game_class(game).about


def preset_title(game: str, preset: str) -> str:
    """Return the title of a preset without its game, like `World, three players`. `preset` may also be `unrated`, for
    matches that are not rated.
    """
    return _capital(_preset(game, preset))


def pool_title(pool: str) -> str:
    """Return the title of a pool, like `Nim, classic`. It also accepts `nim/unrated`, for a game's unrated matches."""
    game, _, preset = pool.partition("/")
    return f"{game_title(game)}, {_preset(game, preset)}" if preset else game_title(game)


def match_title(game: str, config: Mapping[str, Any]) -> str:
    """Return the title of a match: the title of its preset's pool, or of its game if its config is not a preset's."""
    try:
        preset = load_game(game, config).preset
    except Fault:  # a game or config of another version
        preset = None
    return pool_title(f"{game}/{preset}" if preset else game)


def example_game() -> str:
    """Return the name of the game for examples, the first of all games."""
    return game_names()[0]


def example_pool() -> str:
    """Return the pool that examples use: that of the default preset of `example_game`."""
    return f"{example_game()}/{default_preset(example_game())}"


def example_state() -> str:
    """Return the first state of `example_game` under its default preset, in JSON, quoted for a URL."""
    game = load_game(example_game())
    state, _ = game.initial(Dice(b"", 0))
    return quote(msgspec.json.encode(game.encode_state(state)).decode())


def _preset(game: str, preset: str) -> str:
    known = game_class(game).preset_titles if game in game_names() else {}
    own, version = preset_of(preset), version_of(preset)
    title = known.get(own, _in_words(own)) + ("" if version == FIRST_VERSION else f", version {version}")
    return f"{title}, people" if is_people_pool(preset) else title


def _in_words(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


FILTERS = {function.__name__: function for function in (game_title, game_about, preset_title, pool_title)}
"""The filters of templates for titles of games, presets and pools: functions by name."""
