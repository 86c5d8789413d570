"""Where the settings of a running bot come from, and what is wrong with bad ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bots.client.options import read_command_line
from bots.client.run import for_people
from bots.client.settings import DEFAULT_URL, PartialSettings, merge_settings, read_config, read_environment, read_pairs
from bots.reference.random_bot import RandomBot
from protocol.errors import UsageFault


def test_the_command_line_goes_before_the_environment_and_that_before_the_code() -> None:
    command_line = read_command_line(RandomBot("mine"), ["--url", "ws://a:1", "--matches", "3"])
    environment = read_environment({"ARENA_URL": "ws://b:1", "ARENA_SLOTS": "4", "ARENA_TOKEN": ""})
    settings = merge_settings(command_line, environment, PartialSettings(slots=2, game="nim"))
    assert (settings.url, settings.matches, settings.slots, settings.game) == ("ws://a:1", 3, 4, "nim")
    assert settings.token is None


def test_without_a_word_a_bot_plays_rated_at_the_local_arena_for_ever() -> None:
    settings = merge_settings(read_command_line(RandomBot("mine"), []), read_environment({}))
    assert (settings.url, settings.matches, settings.slots, settings.rated) == (DEFAULT_URL, None, 1, True)


def test_every_variable_is_read() -> None:
    environ = {
        "ARENA_URL": "wss://arena.example",
        "ARENA_TOKEN": "t" * 16,
        "ARENA_TOKEN_FD": "0",
        "ARENA_BOT": "mine",
        "ARENA_GAME": "grundy",
        "ARENA_CONFIG": '{"heap": 20}',
        "ARENA_MATCHES": "5",
        "ARENA_SLOTS": "2",
        "ARENA_SEED": "7",
        "ARENA_PATIENCE": "1.5",
        "ARENA_ASSIGNED": "1",
        "ARENA_HOSTS": "b.example, *.c.example",
    }
    assert read_environment(environ) == {
        "url": "wss://arena.example",
        "token": "t" * 16,
        "token_fd": 0,
        "name": "mine",
        "game": "grundy",
        "config": {"heap": 20},
        "matches": 5,
        "slots": 2,
        "seed": "7",
        "patience": 1.5,
        "assigned": True,
        "hosts": "b.example, *.c.example",
    }


def test_hosts_of_further_nodes_are_names_with_commas_between() -> None:
    assert merge_settings(PartialSettings(hosts="B.example, *.c.example,")).hosts == ("b.example", "*.c.example")
    for wrong in ("ws://b.example", "b.example/x", "a b", "*"):
        with pytest.raises(UsageFault, match="give host names, like"):
            merge_settings(PartialSettings(hosts=wrong))


def test_a_bot_of_a_tournament_does_not_wait_for_ever() -> None:
    assert merge_settings(PartialSettings(assigned=True)).patience == 5.0


def test_a_config_in_the_code_is_left_out_where_another_game_is_asked_for() -> None:
    code = PartialSettings(game="nim", config={"preset": "sticks"})
    assert merge_settings(PartialSettings(game="tictactoe"), code).config == {}
    assert merge_settings(PartialSettings(game="nim"), code).config == {"preset": "sticks"}


def test_config_values_are_json_or_lists_or_text() -> None:
    pairs = ["heaps=3,5,7", "take=null", "misere=true", "start=p-position"]
    assert read_config(pairs, None) == {"heaps": [3, 5, 7], "take": None, "misere": True, "start": "p-position"}
    assert read_config(["misere=true"], "classic") == {"misere": True, "preset": "classic"}
    assert read_config([], None) is None
    with pytest.raises(UsageFault, match="--preset a and --config preset=b name two presets: give one of them"):
        read_config(["preset=b"], "a")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            PartialSettings(url="http://a"),
            "the arena's URL is 'http://a': write it like ws://127.0.0.1:8765 or wss://arena.example; http is for ",
        ),
        (PartialSettings(url="ws://me:secret@a"), "carries a user or password"),
        (PartialSettings(name="no spaces"), "the bot's name is 'no spaces': 1 to 32 letters"),
        (PartialSettings(opponent="-x"), "the opponent is '-x'"),
        (PartialSettings(slots=65), "slots is 65: it must be 1 to 64"),
        (PartialSettings(matches=0), "matches is 0: it must be 1 or more"),
        (PartialSettings(token="short"), "the token has 5 characters: a token has 16 to 128"),
        (PartialSettings(config={"preset": "sticks"}), "needs a game: add --game NAME"),
        (PartialSettings(game="nim", config={"preset": "x"}), "nim has no preset 'x': one of classic, min-nim, sticks"),
        (PartialSettings(game="nim", config={"heaps": [-1]}), "heaps[0] is -1"),
    ],
)
def test_a_setting_that_cannot_work_is_named(given: Any, says: str) -> None:
    with pytest.raises(UsageFault) as caught:
        merge_settings(given)
    assert says in str(caught.value)


def test_a_variable_that_is_no_number_is_named() -> None:
    with pytest.raises(UsageFault, match="ARENA_SLOTS is 'many': it must be a number"):
        read_environment({"ARENA_SLOTS": "many"})


@pytest.mark.parametrize("text", ["heaps=3", "[3]", "[" * 100_000])
def test_a_config_in_the_environment_that_is_no_map_is_named(text: str) -> None:
    with pytest.raises(UsageFault, match=r"ARENA_CONFIG is '.*': it must be a map in JSON") as caught:
        read_environment({"ARENA_CONFIG": text})
    assert len(str(caught.value)) < 200


def test_a_config_in_the_environment_is_left_out_where_another_game_is_asked_for() -> None:
    environment = read_environment({"ARENA_GAME": "nim", "ARENA_CONFIG": '{"preset": "sticks"}'})
    assert merge_settings(PartialSettings(game="tictactoe"), environment).config == {}
    assert merge_settings(
        PartialSettings(), environment, PartialSettings(game="nim", config={"heaps": [1]})
    ).config == {"preset": "sticks"}


def test_a_pair_without_an_equals_sign_is_named() -> None:
    with pytest.raises(UsageFault, match="--set 'depth': it must be key=value"):
        read_pairs(["depth"], "--set")


@pytest.mark.parametrize(
    ("given", "config"),
    [
        (PartialSettings(game="kuhn"), {"preset": "short"}),
        (PartialSettings(game="dilemma"), {"preset": "short"}),
        (PartialSettings(game="nim"), {}),
        (PartialSettings(), {}),
        (PartialSettings(game="kuhn", config={"preset": "classic"}), {"preset": "classic"}),
        (PartialSettings(game="kuhn", config={"hands": 3}), {"hands": 3}),
    ],
)
def test_a_person_who_asks_for_no_config_seeks_a_short_match(given: PartialSettings, config: dict[str, Any]) -> None:
    assert for_people(merge_settings(given)).config == config


def test_a_person_in_a_tournament_plays_what_is_assigned() -> None:
    settings = replace(merge_settings(PartialSettings(game="kuhn")), assigned=True)
    assert for_people(settings) is settings
