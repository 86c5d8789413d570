"""Looks up bots, tournaments, pools and games by name, with messages for names that do not exist."""

from __future__ import annotations

from collections.abc import Iterable

from arena.ratings.rating_system import game_of
from arena.store.leaderboards import Profile, find_profile, games_with_results, pools_with_results
from arena.store.registry import is_known_bot
from arena.store.result_queries import UNRATED_SUFFIX
from arena.store.store import Reader
from arena.store.tournaments import TournamentTable, for_visitors, tournament_exists, tournament_table
from arena.web.errors import NotFound
from arena.web.site import Site
from protocol.display import list_choices, short_repr
from protocol.games import game_class, game_names
from protocol.pools import preset_of, with_version

_NO_BOT_MESSAGE, _NO_TOURNAMENT_MESSAGE = "there is no bot called {}", "there is no tournament {}"
"""`_NO_BOT_MESSAGE` says that there is no bot of a name, `_NO_TOURNAMENT_MESSAGE` that there is no tournament of an id.
"""


def require_profile(reader: Reader, bot: str) -> Profile:
    """Return the profile of a bot. Raise `NotFound` if there is no such bot."""
    found = reader.read(find_profile, bot)
    if found is None:
        raise NotFound(_NO_BOT_MESSAGE.format(short_repr(bot)))
    return found


def unknown_bot_message(reader: Reader, bot: str) -> str | None:
    """Return the message for an unknown bot; None if the bot exists."""
    return None if reader.read(is_known_bot, bot) else _NO_BOT_MESSAGE.format(short_repr(bot))


def find_tournament(site: Site, name: str) -> TournamentTable:
    """Return a tournament with its tables, as visitors may know it. Raise `NotFound` if there is none of this id."""
    found = site.reader.read(tournament_table, name, site.cached_standings)
    if found is None:
        raise NotFound(_NO_TOURNAMENT_MESSAGE.format(short_repr(name)))
    return for_visitors(found)


def unknown_tournament_message(reader: Reader, name: str) -> str | None:
    """Return the message for an unknown tournament; None if the tournament exists."""
    return None if reader.read(tournament_exists, name) else _NO_TOURNAMENT_MESSAGE.format(short_repr(name))


def no_leaderboard_message(game: str, preset: str, rated: Iterable[str]) -> str:
    """Return the message for a leaderboard that does not exist. `rated` are the pools that have leaderboards."""
    there = list(dict.fromkeys([*game_names(), *map(game_of, rated)]))
    if game not in there:
        return _no_game_message(game, there)
    presets = game_class(game).presets if game in game_names() else {}
    if presets and preset_of(preset) not in presets:
        return f"{game} has no preset {short_repr(preset)}: {list_choices(presets)}"
    return f"no match was rated in {game}/{preset} yet; pools with ratings: {', '.join(rated) or 'none'}"


def unknown_game_message(reader: Reader, game: str) -> str | None:
    """Return the message for an unknown game; None if there are rules or matches of it."""
    if game in game_names():
        return None
    there = list_games(reader)
    return None if game in there else _no_game_message(game, there)


def _no_game_message(game: str, there: Iterable[str]) -> str:
    return f"there is no game {short_repr(game)}: {list_choices(there)}"


def list_games(reader: Reader) -> list[str]:
    """Return all games: first the games with rules, then games that only have matches."""
    return list(dict.fromkeys([*game_names(), *reader.read(games_with_results)]))


def list_pools(reader: Reader) -> list[str]:
    """Return all pools: first those with results, then those of presets, then those of unrated matches by game."""
    presets = [
        with_version(f"{game}/{preset}", game_class(game).version)
        for game in game_names()
        for preset in game_class(game).presets
    ]
    return list(
        dict.fromkeys(
            [*reader.read(pools_with_results), *presets, *(f"{game}/{UNRATED_SUFFIX}" for game in game_names())]
        )
    )


def unknown_pool_message(reader: Reader, pool: str) -> str | None:
    """Return the message for an unknown pool; None if the pool exists."""
    there = list_pools(reader)
    return None if pool in there else f"there is no pool {short_repr(pool)}: {list_choices(there)}"


def game_order(game: str) -> int:
    """Return the sort key of a game: its index in the registry. Unknown games come last."""
    return game_names().index(game) if game in game_names() else len(game_names())
