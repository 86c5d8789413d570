"""The registry of games, to which a program adds its own."""

from __future__ import annotations

from functools import cache

import pytest

from protocol.errors import UsageFault
from protocol.games import clear_on_registration, game_class, game_names, is_known_game, load_game, shared_game
from protocol.games.spec import GameSpec
from registered_games import TABLE_GAMES, registered

DIBS, _, BIDS = TABLE_GAMES


def test_a_registered_game_is_the_last_of_all_until_it_is_removed() -> None:
    before = game_names()
    with registered(DIBS):
        assert game_names() == (*before, "dibs")
        assert load_game("dibs").seats == 3
    assert game_names() == before


@pytest.mark.parametrize("name", ["nim", "dibs"])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    with registered(DIBS):
        with pytest.raises(UsageFault, match=f"there is a game {name} already"), registered(DIBS._replace(name=name)):
            pytest.fail("it was taken")
        assert is_known_game(name)


def test_the_rules_of_a_removed_game_are_not_those_of_the_next_of_its_name() -> None:
    with registered(DIBS):
        first = shared_game("dibs", {})
    with registered(BIDS._replace(name="dibs")):
        assert type(shared_game("dibs", {})) is game_class("dibs") is not type(first)


def test_what_was_computed_from_the_games_is_computed_again_when_there_is_another() -> None:
    @clear_on_registration
    @cache
    def longest_name() -> str:
        return max(game_names(), key=len)

    before = longest_name()
    with registered(GameSpec("a-very-long-name-of-a-game", DIBS.room, DIBS.rules)):
        assert longest_name() == "a-very-long-name-of-a-game"
    assert longest_name() == before
