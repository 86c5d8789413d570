"""A bot that takes any match: one open seek in each of its games, for as long as there are slots."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bots.client.bot import Bot
from bots.client.conversation import Conversation, ScheduleSeek, WarmUp
from bots.client.loading import build_bot
from bots.client.options import read_command_line
from bots.client.settings import DEFAULT_OPEN_SLOTS, PartialSettings, Settings, merge_settings
from bots.reference.random_bot import RandomBot
from conftest import free_port
from machine.client.client_protocol import Effect, PrintLine, Stop
from processes import run, serving
from protocol import messages
from protocol.bot_launch import parse_bot_spec
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import Game
from timeouts import WITHIN


class Warm(RandomBot):
    def warm_up(self, game: Game[Any, Any] | None) -> None:
        pass


def conversation(bot: Bot | None = None, **settings: Any) -> Conversation:
    return Conversation(bot or RandomBot("house"), Settings(**{"open": True, "slots": 9, **settings}), "t" * 20)


def sought(effects: list[Effect]) -> list[str]:
    seeks = [effect for effect in effects if isinstance(effect, messages.Seek)]
    assert all(seek.open and not seek.config and seek.opponent is None for seek in seeks)
    return [seek.game for seek in seeks]


def warming(effects: list[Effect]) -> list[list[str]]:
    """The games for which it says that it warms up, each time."""
    return [effect.games for effect in effects if isinstance(effect, messages.Warming)]


def test_it_seeks_openly_in_every_game_that_it_and_the_arena_play(script: Any) -> None:
    talk = conversation()
    assert sought(talk.receive(script.welcome(), 0.0)) == ["nim", "tictactoe"]
    assert sought(conversation(game="nim").receive(script.welcome(), 0.0)) == ["nim"]


def test_a_seek_is_made_anew_as_soon_as_its_match_begins(script: Any) -> None:
    talk = conversation(slots=3)
    talk.receive(script.welcome(slots=3), 0.0)
    assert sought(talk.receive(script.start("m-1", seek="s1"), 0.0)) == ["nim"]
    assert sought(talk.receive(script.start("m-2", seek="s3"), 0.0)) == []
    assert sought(talk.receive(script.end("m-1"), 0.0)) == ["nim"]


def test_with_enough_to_play_it_takes_its_other_seeks_back_and_stops_without_them(script: Any) -> None:
    talk = conversation(matches=1)
    talk.receive(script.welcome(), 0.0)
    begun = talk.receive(script.start("m-1", seek="s1"), 0.0)
    assert [effect for effect in begun if isinstance(effect, messages.Unseek)] == [messages.Unseek(id="s2")]
    assert not any(isinstance(effect, Stop) for effect in talk.receive(script.end("m-1"), 0.0))
    assert talk.receive(messages.Unseeked(id="s2"), 0.0) == [Stop(0)]


def test_after_a_lost_connection_all_seeks_are_made_again(script: Any) -> None:
    talk = conversation()
    talk.receive(script.welcome(), 0.0)
    talk.handle_lost(1006)
    assert sought(talk.receive(script.welcome(), 0.0)) == ["nim", "tictactoe"]


def test_while_a_game_cannot_be_had_it_seeks_the_others(script: Any) -> None:
    talk = conversation(slots=3)
    talk.receive(script.welcome(slots=3), 0.0)
    refused = talk.receive(messages.Error(code="unavailable", message="not now", ref="s1"), 0.0)
    assert [effect for effect in refused if isinstance(effect, ScheduleSeek)] == [ScheduleSeek(2.0, "nim")]
    assert sought(talk.receive(script.start("m-1", seek="s2", game="tictactoe", config={}), 0.0)) == ["tictactoe"]
    assert sought(talk.retry_seek("nim")) == ["nim"]


def test_a_game_is_sought_when_the_bot_is_warm_for_it_and_one_that_it_can_not_play_never(
    script: Any,
) -> None:
    bot = Warm("house")
    bot.games = ["nim", "grundy", "tictactoe"]
    talk = conversation(bot)
    effects = talk.receive(script.welcome(), 0.0)
    assert [effect for effect in effects if isinstance(effect, WarmUp)] == [WarmUp("nim")]
    assert warming(effects) == [["nim", "grundy", "tictactoe"]]
    assert sought(effects) == []
    assert talk.on_warmed_up("nim", None)[0] == WarmUp("grundy")
    talk.handle_lost(1006)
    again = talk.receive(script.welcome(), 0.0)
    assert sought(again) == ["nim"]
    assert warming(again) == [["grundy", "tictactoe"]]
    assert not any(isinstance(effect, WarmUp) for effect in again)
    assert talk.on_warmed_up("grundy", "no table") == [
        WarmUp("tictactoe"),
        messages.Warming(games=["tictactoe"]),
        PrintLine("house: the bot can't play grundy: no table", is_error=True),
    ]
    last = talk.on_warmed_up("tictactoe", None)
    assert (sought(last), warming(last)) == (["tictactoe"], [[]])
    assert warming(talk.receive(script.welcome(), 0.0)) == []


def test_a_bot_that_can_play_nothing_stops(script: Any) -> None:
    bot = Warm("house")
    bot.games = ["nim"]
    talk = conversation(bot)
    talk.receive(script.welcome(), 0.0)
    assert Stop(1) in talk.on_warmed_up("nim", "no table")


def test_it_has_slots_for_its_seeks_and_some_matches_unless_it_says_otherwise() -> None:
    open_to_all = read_command_line(RandomBot("house"), ["--open"])
    assert merge_settings(open_to_all).slots == DEFAULT_OPEN_SLOTS
    slots = {games: merge_settings(open_to_all, games=games).slots for games in (1, 8, 9, 13, 56, 99)}
    assert slots == {1: 16, 8: 16, 9: 17, 13: 21, 56: 64, 99: 64}
    assert merge_settings(open_to_all, PartialSettings(game="nim"), games=13).slots == DEFAULT_OPEN_SLOTS
    assert merge_settings(open_to_all, PartialSettings(slots=2)).slots == 2
    assert merge_settings(read_command_line(RandomBot("house"), [])).open is False


@pytest.mark.parametrize(
    "asked",
    [
        PartialSettings(game="nim", config={"preset": "classic"}),
        PartialSettings(opponent="ann"),
        PartialSettings(rated=False),
    ],
)
def test_who_is_open_asks_for_nothing_else(asked: PartialSettings) -> None:
    with pytest.raises(UsageFault, match="--open takes any match"):
        merge_settings(PartialSettings(open=True), asked)


@pytest.mark.ci
async def test_it_plays_whoever_comes_whatever_they_seek_and_after_a_restart_too(tmp_path: Path) -> None:
    port = str(free_port())
    house = ["arena-bot", "run", "greedy", "--open", "--matches", "4", "--url", f"ws://127.0.0.1:{port}"]
    guest = ["arena-bot", "run", "random", "--matches", "2", "--url", f"ws://127.0.0.1:{port}"]
    async with asyncio.timeout(WITHIN), asyncio.TaskGroup() as group:
        playing = group.create_task(run(*house, folder=tmp_path))
        async with serving(tmp_path / "data", "--port", port):
            named = await run(*guest, "--game", "nim", "--config", "heaps=2,2", "--opponent", "greedy", folder=tmp_path)
        async with serving(tmp_path / "data", "--port", port):
            anybody = await run(*guest, "--game", "tictactoe", folder=tmp_path)
        code, out, _ = await playing
    assert (code, named[0], anybody[0]) == (0, 0, 0)
    assert named[1].count(", unrated") == 2
    assert anybody[1].count(", rating") == 2
    assert out.count("against random") == 4


PLAYED = {
    "tit-for-tat": ["axelrod", "open-end", "prison", "stag-hunt", "chicken", "short"],
    "grim": ["axelrod", "open-end", "prison", "stag-hunt", "chicken", "short"],
    "pavlov": ["axelrod", "open-end", "prison", "stag-hunt", "chicken", "short"],
    "generous": ["axelrod", "open-end", "prison", "short"],
    "extort": ["axelrod", "open-end", "prison", "short"],
    "equilibrium": [],
    "random": [],
}
"""By reference bot, the presets of the dilemma that its open seek names; none: whatever comes."""


@pytest.mark.parametrize("name", PLAYED)
def test_an_open_seek_names_the_presets_that_the_bot_plays_where_it_does_not_play_all(script: Any, name: str) -> None:
    talk = conversation(build_bot(parse_bot_spec(name, "")), game="dilemma")
    welcome = replace(script.welcome(), games=["dilemma"])
    seeks = [each for each in talk.receive(welcome, 0.0) if isinstance(each, messages.Seek)]
    assert [seek.presets for seek in seeks] == [PLAYED[name]]


class Fussy(RandomBot):
    def check_game(self, game: Game[Any, Any]) -> None:
        super().check_game(game)
        if game.name == "nim" or game.config.get("misere"):
            raise UsageFault("house plays no heaps")


def test_a_game_of_which_a_bot_plays_nothing_is_not_sought_and_told(script: Any) -> None:
    talk = conversation(Fussy("house"))
    effects = talk.receive(script.welcome(), 0.0)
    assert sought(effects) == ["tictactoe"]
    assert "house: the bot can't play nim: house plays no heaps" in [
        e.line for e in effects if isinstance(e, PrintLine)
    ]
    alone = conversation(Fussy("house"), game="nim").receive(script.welcome(), 0.0)
    assert sought(alone) == []
    assert alone[-1] == Stop(1)


def test_a_game_that_a_bot_does_not_play_takes_no_slot_from_others(script: Any) -> None:
    bot = Fussy("house")
    bot.games = ["nim", "tictactoe"]
    assert sought(conversation(bot, slots=1).receive(script.welcome(), 0.0)) == ["tictactoe"]


def test_a_bot_that_plays_no_game_of_the_arena_stops(script: Any) -> None:
    bot = Fussy("house")
    bot.games = ["nim", "dilemma"]
    assert conversation(bot).receive(script.welcome(), 0.0)[-1] == Stop(1)


def test_a_config_that_the_bot_does_not_play_is_given_up_in_a_line_and_the_bot_goes_on(script: Any) -> None:
    talk = conversation(build_bot(parse_bot_spec("tit-for-tat", "")), game="dilemma")
    talk.receive(replace(script.welcome(), games=["dilemma"]), 0.0)
    config = load_game("dilemma", {"payoffs": [[[1, 1]] * 3] * 3, "rounds": 3}).config
    for number in range(5):
        start = script.start(f"m-{number}", seek=f"s{number + 1}", game="dilemma", config=config)
        effects = talk.receive(start, 0.0)
        (resigned,) = (effect for effect in effects if isinstance(effect, messages.Resign))
        assert "tit-for-tat plays with 2 choices for each seat" in (resigned.failure or "")
        talk.receive(script.end(f"m-{number}"), 0.0)
        assert not any(isinstance(effect, Stop) for effect in effects)
