"""The pools that may be asked for, whether anything was played in them or not, and what is said of any other."""

from __future__ import annotations

from arena.store.browsing import UNRATED
from arena.store.reader import Reader
from protocol.games import NAMES, game_class
from protocol.shown import among, shown


def known_pools(reader: Reader) -> list[str]:
    """Those that have rated matches, then those of presets, then the unrated matches of each game."""
    presets = [f"{game}/{preset}" for game in NAMES for preset in game_class(game).presets]
    return list(dict.fromkeys([*reader.pools(), *presets, *(f"{game}/{UNRATED}" for game in NAMES)]))


def unknown_pool(reader: Reader, pool: str) -> str | None:
    """What is wrong with the name of a pool; None if there is one of this name."""
    known = known_pools(reader)
    return None if pool in known else f"there is no pool {shown(pool)}: {among(known)}"
