"""The home page: what this is, the ways in, who leads each game, and which match is shown again."""

from __future__ import annotations

import re

from arena.store.seasons import start_season
from arena.store.thinning import remove_records_of
from seasons import finish, result, season
from web_client import Visitor


def leaders(page: str) -> dict[str, list[str]]:
    """Who leads, best first, by the address of the whole leaderboard."""
    parts = re.findall(r"<ol>(.*?)</ol>\s*<p><a href=\"(/leaderboard/[^\"]*)\"", page, re.S)
    return {address: re.findall(r'<a href="/bots/([^"]*)"', rows) for rows, address in parts}


def shown(page: str) -> str | None:
    found = re.search(r'data-replay="([^"]*)"', page)
    return found[1] if found else None


def test_a_visitor_is_told_what_this_is_and_led_to_play_to_watch_and_to_connect(visitor: Visitor) -> None:
    page = visitor.get("/").text
    assert "a referee for games between programs" in page
    ways = page.split('class="ways"', 1)[1].split("</p>", 1)[0]
    assert re.findall(r'href="([^"]*)"', ways) == ["/play", "/matches", "/connect"]


def test_an_arena_where_nothing_was_played_says_how_to_begin(visitor: Visitor) -> None:
    page = visitor.get("/").text
    assert "No matches yet" in page
    assert "arena serve --demo" in page
    assert (shown(page), leaders(page)) == (None, {})


def test_the_first_five_of_every_game_lead_to_the_whole_leaderboard(visitor: Visitor) -> None:
    season(visitor.store)
    finish(visitor.store, *(result(f"n{n}", (f"bot{n}", f"bot{n + 1}")) for n in range(6)))
    found = leaders(visitor.get("/").text)
    assert list(found) == ["/leaderboard/nim/classic", "/leaderboard/tictactoe/classic"]
    assert [len(bots) for bots in found.values()] == [5, 4]
    ladder = re.findall(r'<tr data-bot="([^"]*)"', visitor.get("/leaderboard/nim/classic").text)
    assert found["/leaderboard/nim/classic"] == ladder[:5]


def test_the_leaders_have_the_score_by_which_the_leaderboard_ranks_them(visitor: Visitor) -> None:
    wins = [result(f"w{n}", ("often", f"loser{n % 3}")) for n in range(9)]
    finish(visitor.store, *wins, result("once", ("seldom", "often")))
    scores = re.findall(r'<a href="/bots/([^"]*)".*?</span> <span[^>]*>([^<]*)</span></li>', visitor.get("/").text)
    rows = visitor.get("/leaderboard/nim/classic").text.split('<tr data-bot="')[1:]
    ladder = [(row.partition('"')[0], re.findall(r'<td class="number">([^<]*)</td>', row)[1]) for row in rows]
    assert scores == ladder[:5]
    assert len(scores) == 5


def test_every_game_leads_to_its_rules(visitor: Visitor) -> None:
    season(visitor.store)
    rules = re.findall(r'href="/rules/([^"]*)">Rules<span class="quiet"> of ([^<]*)<', visitor.get("/").text)
    assert rules == [("nim", "Nim"), ("tictactoe", "Tic-tac-toe")]


def test_of_several_presets_that_one_is_shown_in_which_most_is_played(visitor: Visitor) -> None:
    duel = [result(f"d{n}", pool="risk-duel/south-america") for n in range(2)]
    finish(visitor.store, result("a1", pool="risk-duel/africa"), *duel)
    page = visitor.get("/").text
    assert list(leaders(page)) == ["/leaderboard/risk-duel/south-america"]
    assert 'Risk: the duel <span class="faint">South America</span>' in page


def test_after_a_season_has_begun_nobody_leads(visitor: Visitor) -> None:
    season(visitor.store)
    visitor.store.write(start_season, "autumn")
    assert leaders(visitor.get("/").text) == {}


def test_the_latest_match_is_shown_and_told_in_words(visitor: Visitor) -> None:
    finish(visitor.store, result("m1"), result("m2", ("bob", "cid")))
    page = visitor.get("/").text
    assert shown(page) == "m2"
    assert '<a href="/matches/m2">bob beat cid</a> <span class="faint">at Nim, classic' in page


def test_a_match_that_was_called_off_is_not_shown_where_there_is_another(visitor: Visitor) -> None:
    finish(visitor.store, result("m1"), result("m2", reason="void", rated=False))
    assert shown(visitor.get("/").text) == "m1"


def test_a_match_whose_record_was_removed_is_told_and_not_replayed(visitor: Visitor) -> None:
    finish(visitor.store, result("m1"), result("m2"))
    visitor.store.write(remove_records_of, [2])
    assert shown(visitor.get("/").text) == "m1"
    visitor.store.write(remove_records_of, [1])
    page = visitor.get("/").text
    assert shown(page) is None
    assert '<a href="/matches/m2">ann beat bob</a>' in page
