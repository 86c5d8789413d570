"""Titles of games, presets and pools: the same from the server and from its scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from arena.web.titles import game_title, match_title, pool_title, preset_title
from protocol.games import game_class, game_names

TITLES = """async (load, game, preset) => {
  const { gameTitle, poolTitle, presetTitle } = await load("titles.js");
  return [gameTitle(game), presetTitle(game, preset), poolTitle(game, preset), poolTitle(game)];
}"""
UNKNOWN = [("my-game", "tiny_board"), ("nim", "unrated"), ("risk-duel", "mars"), ("constructor", "toString")]


@pytest.mark.parametrize("game", game_names())
def test_every_game_and_each_of_its_presets_has_a_title(game: str) -> None:
    rules = game_class(game)
    assert rules.preset_titles.keys() == rules.presets.keys()
    titles = [rules.title, *rules.preset_titles.values()]
    assert all(titles)
    assert len(set(titles)) == len(titles)
    assert rules.about.endswith(".")


def test_a_pool_is_called_by_the_titles_of_its_game_and_preset() -> None:
    assert pool_title("nim/classic") == "Nim, classic"
    assert pool_title("risk-duel/south-america") == "Risk: the duel, South America"
    assert preset_title("risk-campaign", "world-3") == "World, three players"
    assert preset_title("nim", "classic") == "Classic"
    assert pool_title("nim/unrated") == "Nim, unrated"


def test_what_this_version_does_not_know_is_called_by_its_name_in_words() -> None:
    assert game_title("my-game") == "My game"
    assert pool_title("my-game/tiny_board") == "My game, tiny board"
    assert pool_title("my-game") == "My game"


def test_scripts_say_the_same_titles(scripts: Callable[..., Any]) -> None:
    known = [(name, preset) for name in game_names() for preset in game_class(name).presets]
    for game, preset in known + UNKNOWN:
        pool = f"{game}/{preset}"
        titles = [game_title(game), preset_title(game, preset), pool_title(pool), pool_title(game)]
        assert scripts(TITLES, game, preset) == titles, pool


@pytest.mark.parametrize(
    ("game", "config", "title"),
    [
        ("risk-duel", {"preset": "europe"}, "Risk: the duel, Europe"),
        ("nim", {"heaps": [9, 9]}, "Nim"),
        ("nim", {"heaps": "of another version"}, "Nim"),
    ],
)
def test_a_match_has_the_title_of_its_preset_or_of_its_game(game: str, config: dict[str, Any], title: str) -> None:
    assert match_title(game, config) == title
