"""Who of those here a person is offered as an opponent, and what a wait is explained by, computed by Node."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import msgspec
import pytest

from arena.lobby.policy import LobbyPolicy
from arena.web.pages import taking_part
from arena.web.pages.taking_part import MAX_OFFERED_SEATS, list_offers
from games.nim.rules import Nim
from protocol.display_names import PLAIN_LETTERS, nearest_bot_name
from protocol.games import game_names, load_game
from protocol.games.spec import GameSpec
from registered_games import registered

Map = dict[str, Any]
Ask = Callable[..., Any]
CALL = """async (load, name, ...values) => {
  const found = { ...(await load("play/who-plays.js")), ...(await load("identity.js")) }[name];
  return typeof found === "function" ? found(...values) : found;
}"""
GAMES = json.loads(msgspec.json.encode(list_offers()))
DUEL: Map = {"game": "risk-duel", "preset": "south-america", "seats": 2}
WORLD: Map = {"game": "risk-campaign", "preset": "world-3", "seats": 3}
BLUFFER: Map = {"bot": "bluffer", "seeks": [{"game": "kuhn", "open": True}]}
GREEDY: Map = {"bot": "greedy", "seeks": [{"game": name, "open": True} for name in ("risk-duel", "risk-campaign")]}
FAIR: Map = {"bot": "fair", "seeks": [{"game": "risk-duel", "open": True, "presets": ["europe-fair"]}]}
COLD: Map = {"bot": "alphabeta", "warming": ["risk-campaign", "risk-duel"], "warming_s": 12}
PERSON: Map = {"bot": "zoe", "client": "bot-arena/browser"}

POLICY = LobbyPolicy()


class Crowd(Nim):
    """Nim whose rules accept any number of seats, which it counts."""

    name = "crowd"
    asked: ClassVar[list[int]] = []

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__({"preset": config.get("preset", "classic")})
        self.config["players"] = config.get("players", 2)
        self.asked.append(self.config["players"])
        if self.asked[-1] > MAX_OFFERED_SEATS:
            raise AssertionError(f"the page asks for {self.asked[-1]} seats")


@pytest.fixture
def ask(scripts: Callable[..., Any]) -> Ask:
    """Call a function of the choice of opponents, or of names, by its name."""
    return partial(scripts, CALL)


def how(ask: Ask, bot: Map, wish: Map, *, matches: Any = (), is_rated: bool = False) -> str | None:
    """What is said of a bot beside its name; None where it is not offered."""
    found = ask("readiness", bot, wish, "ann", list(matches), is_rated)
    return found and str(found["how"])


def test_who_plays_another_game_or_another_preset_is_not_offered(ask: Ask) -> None:
    assert how(ask, GREEDY, DUEL) == "plays at once"
    assert how(ask, BLUFFER, DUEL) is None
    assert how(ask, FAIR, DUEL) is None
    assert how(ask, FAIR, {**DUEL, "preset": "europe-fair"}) == "plays at once"


def test_who_names_presets_is_not_offered_for_a_config_of_ones_own(ask: Ask) -> None:
    own = {"game": "risk-duel", "seats": 2}
    assert how(ask, FAIR, own) is None
    assert how(ask, GREEDY, own) == "plays at once"


def test_who_is_busy_is_offered_where_it_is_known_to_play_this(ask: Ask) -> None:
    busy = {"bot": "busy", "playing": 1}
    match = {"match": "m", "game": "risk-duel", "preset": "south-america", "seats": ["busy", "bob"]}
    assert how(ask, busy, DUEL) is None
    assert how(ask, busy, DUEL, is_rated=True) == "busy in a match"
    assert how(ask, busy, DUEL, matches=[match]) == "busy in a match"
    assert how(ask, busy, DUEL, matches=[{**match, "preset": "europe"}]) is None
    assert how(ask, busy, DUEL, matches=[{**match, "game": "nim"}]) is None


def test_people_are_offered_whatever_is_wanted_and_who_warms_up_with_how_long_that_takes(ask: Ask) -> None:
    assert how(ask, PERSON, DUEL) == "a person: plays you if you choose each other"
    assert how(ask, COLD, WORLD) == "getting ready for this game: half a minute or more the first time"
    assert how(ask, COLD, {"game": "nim", "preset": "classic", "seats": 2}) is None


@pytest.mark.parametrize("game", game_names())
def test_a_wish_has_the_preset_that_the_rules_find_in_the_config(ask: Ask, game: str) -> None:
    configs: list[Map] = [{}] + [{"preset": one["preset"]} for one in GAMES[game_names().index(game)]["presets"]]
    if game == "risk-campaign":
        configs += [{"preset": "world", "players": 3}, {"preset": "world", "players": 4}, {"players": 3}]
        configs += [{"preset": "world", "max_rounds": 7}]
    for config in configs:
        rules = load_game(game, config)
        expected = {"game": game, "preset": rules.preset, "seats": rules.seats}
        if rules.preset is None:
            del expected["preset"]
        assert ask("wishOf", GAMES, {"game": game, "config": config}) == expected, config


def waiting(ask: Ask, wish: Map, *bots: Map, opponents: Any = (), **more: Any) -> str:
    seek = {"opponents": list(opponents), "private": False}
    return str(ask("hindrance", seek, wish, "ann", {"bots": [{"bot": "ann"}, *bots], "matches": [], **more}, GAMES))


def test_a_table_of_three_says_which_seats_are_filled_and_who_gets_ready(ask: Ask) -> None:
    alone = "2 more players are needed. Nobody else online plays this, so the match starts when they come."
    assert waiting(ask, WORLD) == f"1 seat of 3 is taken, by you. {alone}"
    slow = "compiling its code takes half a minute or more the first time."
    ready = f"alphabeta is getting ready for this game (12 s so far): {slow}"
    assert waiting(ask, WORLD, GREEDY, BLUFFER, COLD) == f"2 seats of 3 are taken, by you and greedy. {ready}"
    third = {**GREEDY, "bot": "random"}
    assert waiting(ask, WORLD, GREEDY, third) == (
        "All 3 seats are taken, by you, greedy and random. The match starts in a moment."
    )
    assert waiting(ask, WORLD, GREEDY, third, opponents=["zoe"]) == (
        "2 seats of 3 are taken, by you and greedy. zoe is offline: the match starts when it connects."
    )


def test_a_wait_for_more_than_are_here_says_so_and_names_smaller_tables_for_which_enough_are(ask: Ask) -> None:
    six = {"game": "risk-campaign", "preset": "world", "seats": 6}
    two = (GREEDY, {**GREEDY, "bot": "random"}, PERSON)
    tables = ask("smallerTables", GAMES, six, "ann", two)
    assert (tables[0]["pool"], tables[0]["seats"]) == ("world-3", 3)
    assert {table["seats"] for table in tables} == {3, 2}
    told = waiting(ask, six, *two)
    assert told.startswith(
        "3 seats of 6 are taken, by you, greedy and random. 3 more players are needed. Nobody else online plays "
        "this, so the match starts when they come. Enough are online for “World, three players”"
    )
    assert told.endswith(": stop waiting to choose one of them.")
    assert "3 more players are needed" not in waiting(ask, six, *two, more_bots=1)
    assert ask("shortage", six, "ann", [*two, COLD]) == 2, "who gets ready will come"
    assert ask("shortage", DUEL, "ann", []) == 0
    assert ask("smallerTables", GAMES, six, "ann", [BLUFFER, PERSON]) == []
    only = {"bot": "only", "seeks": [{"game": "risk-campaign", "open": True, "presets": ["grid"]}]}
    assert [table["pool"] for table in ask("smallerTables", GAMES, six, "ann", [only])] == ["grid"]


def test_who_waits_for_a_bot_that_does_not_play_this_is_told_what_it_plays(ask: Ask) -> None:
    told = "bluffer does not play Risk: the duel, South America. It plays Kuhn poker."
    assert waiting(ask, DUEL, BLUFFER, opponents=["Bluffer"]) == f"{told} Stop waiting and choose another opponent."
    assert ask("otherwise", BLUFFER, DUEL, "ann", []) == told
    assert ask("otherwise", FAIR, DUEL, "ann", []) == (
        "fair does not play Risk: the duel, South America. It plays Risk: the duel, Europe, fair."
    )
    twelve = [{"game": f"game-{number}", "open": True} for number in range(12)]
    told = ask("otherwise", {"bot": "some", "seeks": twelve}, DUEL, "ann", [])
    assert told.startswith("some does not play Risk: the duel, South America. It plays ")
    open_seeks = [{"game": f"game-{number}", "open": True} for number in range(POLICY.max_listed_seeks)]
    many = {"bot": "many", "seeks": open_seeks}
    naming = [{"game": f"game-{number}", "open": False, "opponents": ["zoe"]} for number in range(7)]
    rest = {"bot": "rest", "seeks": [*naming, {"game": "nim", "open": True}]}
    assert POLICY.max_listed_seeks - 7 * POLICY.naming_seek_weight - 1 < POLICY.naming_seek_weight
    for bot in (GREEDY, PERSON, COLD, {"bot": "idle"}, many, rest):
        assert ask("otherwise", bot, DUEL, "ann", []) == "", bot


def test_a_wait_of_two_is_explained_by_who_is_here(ask: Ask) -> None:
    assert waiting(ask, DUEL, GREEDY) == ""
    assert waiting(ask, DUEL, BLUFFER) == (
        "Nobody else online wants to play Risk: the duel now. The match starts when somebody does."
    )
    assert waiting(ask, DUEL, BLUFFER, FAIR) == (
        "Nobody else online wants to play Risk: the duel, South America, but fair wants Risk: the duel, Europe, fair."
    )
    assert waiting(ask, DUEL, COLD).startswith(
        "Nobody else online can play Risk: the duel, South America yet. alphabeta is getting"
    )
    assert waiting(ask, DUEL, COLD, GREEDY, opponents=["greedy"]) == ""
    assert waiting(ask, DUEL, COLD, opponents=["alphabeta"]).startswith(
        "alphabeta is getting ready for this game (12 s"
    )
    assert waiting(ask, DUEL, BLUFFER, more_bots=1) == ""


def test_seats_are_offered_up_to_the_most_that_a_game_has_and_no_number_is_tried_beyond() -> None:
    for one in list_offers():
        for preset in one.presets:
            assert preset.usual in preset.seats
            assert max(preset.seats) <= max(preset.usual, 6)
    campaign = next(one for one in list_offers() if one.game == "risk-campaign")
    assert [preset.seats for preset in campaign.presets] == [[2, 3, 4, 5, 6]] * len(campaign.presets)


def test_a_game_is_offered_while_it_is_registered_with_no_more_seats_than_it_or_the_page_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = list_offers()
    with registered(GameSpec(Crowd.name, "games.nim", f"{__name__}:Crowd")):
        assert [one.game for one in list_offers()] == [*(one.game for one in before), "crowd"]
        monkeypatch.setattr(taking_part, "playable_game_names", lambda: ["crowd"])
        for most, last in ((6, 6), (sys.maxsize, 16)):
            monkeypatch.setattr(Crowd, "max_seats", most)
            monkeypatch.setattr(Crowd, "asked", [])
            list_offers.cache_clear()
            assert list_offers()[0].presets[0].seats == list(range(2, last + 1))
            assert max(Crowd.asked) == last
    monkeypatch.undo()
    assert list_offers() == before


def test_people_are_offered_a_short_match_first() -> None:
    first = {one.game: one.first for one in list_offers()}
    assert (first["kuhn"], first["leduc"], first["dilemma"], first["nim"]) == ("short", "short", "short", "classic")
    assert all(load_game(game, {"preset": first[game]}).config["hands"] == 10 for game in ("kuhn", "leduc"))
    assert load_game("dilemma", {"preset": first["dilemma"]}).config["rounds"] == 10


def test_the_page_proposes_the_same_names_as_the_commands(ask: Ask) -> None:
    assert ask("PLAIN_LETTERS") == PLAIN_LETTERS
    typed = [
        "Chloé",
        "O'Brien",
        "Wang Wei",
        "Łukasz  Groß",
        "王伟",
        "x" * 40,
        "İpek Işık",
        " .Ann ",
        "a\u202eb",
        "z" + "\u0335" * 5,
    ]
    assert [ask("near", text) for text in typed] == [nearest_bot_name(text) for text in typed]
    assert ask("proposed", " Chloe\u0301  Dupont ") == {"bot": "Chloe-Dupont", "display": "Chloé Dupont"}
    assert str(ask("nameError", "王伟")).startswith("A name has 1 to 32 letters from A to Z")
    for text in ("chloe", "王伟", "a\u202eb", "z" + "\u0335" * 5, "é" * 49, ""):
        assert ask("proposed", text) is None, text


@pytest.mark.parametrize(
    ("token", "told"),
    [("x" * 16, ""), ("é" * 128, ""), ("x" * 15, "this one has 15."), ("x" * 129, "this one has 129.")],
)
def test_a_typed_token_is_checked_by_its_length(ask: Ask, token: str, told: str) -> None:
    assert ask("readToken", f"\ufeff {token}\r\n\u200b") == token
    assert str(ask("wrongWithToken", token)).endswith(told)
    assert bool(ask("wrongWithToken", token)) == bool(told)
