"""Games, presets and pools by their titles: what people read in place of identifiers. Pure.

The titles are beside the rules of each game. Scripts have the same in `static/titles.js`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol.errors import Fault
from protocol.games import NAMES, game_class, load
from protocol.pools import is_of_people, without_people


def game_title(game: str) -> str:
    """The title of a game: `Risk: the duel`. One that this version does not know by its name, in words."""
    return game_class(game).title if game in NAMES else _capital(_in_words(game))


def game_about(game: str) -> str:
    """What one does in a game of this version, in a sentence."""
    return game_class(game).about


def preset_title(game: str, preset: str) -> str:
    """The title of a preset by itself: `World, three players`; also of what else stands in its place, as `unrated`."""
    return _capital(_preset(game, preset))


def pool_title(pool: str) -> str:
    """The title of a pool, or of what goes by such a name, as `nim/unrated`: `Nim, classic`."""
    game, _, preset = pool.partition("/")
    return f"{game_title(game)}, {_preset(game, preset)}" if preset else game_title(game)


def match_title(game: str, config: Mapping[str, Any]) -> str:
    """The title of a match: that of its preset's pool, or of its game alone, where the config is its own."""
    try:
        preset = load(game, config).preset
    except Fault:  # a game or a config of another version
        preset = None
    return pool_title(f"{game}/{preset}" if preset else game)


def _preset(game: str, preset: str) -> str:
    known = game_class(game).preset_titles if game in NAMES else {}
    own = without_people(preset)
    title = known.get(own, _in_words(own))
    return f"{title}, people" if is_of_people(preset) else title


def _in_words(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


FILTERS = {function.__name__: function for function in (game_title, game_about, preset_title, pool_title)}
