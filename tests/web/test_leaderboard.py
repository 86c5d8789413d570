"""The leaderboard: in every order, searched, in pages, with what a stranger called a bot."""

from __future__ import annotations

import itertools
import json
import re

from arena.commands.leaderboard import leaderboard
from arena.store.registry import set_people
from arena.store.result_queries import leaderboard_of
from arena.store.seasons import start_season
from commands import on_terminal
from seasons import finish, paid, result, season
from web_client import Visitor


def bots(text: str) -> list[str]:
    return re.findall(r'<tr data-bot="([^"]*)"', text)


def test_bots_stand_by_score_with_what_their_ratings_are(visitor: Visitor) -> None:
    season(visitor.store)
    page = visitor.get("/leaderboard/nim/classic").text
    assert len(bots(page)) == 4
    assert 'aria-sort="descending"><a href="?sort=score&amp;order=asc">Score' in page
    assert re.search(r"\d\d\.\d ± \d+\.\d", page)


def test_a_bot_without_matches_enough_is_marked(visitor: Visitor) -> None:
    finish(visitor.store, result("m1"))
    assert '<span class="badge">few</span> 1' in visitor.get("/leaderboard").text


def test_where_a_season_has_begun_ratings_are_new_and_the_one_before_is_shown_as_it_ended(visitor: Visitor) -> None:
    season(visitor.store)
    assert 'aria-label="Seasons"' not in visitor.get("/leaderboard/nim/classic").text
    before = json.loads(visitor.get("/api/v1/leaderboard/nim/classic").text)
    visitor.store.write(start_season, "autumn")
    page = visitor.get("/leaderboard/nim/classic").text
    assert (bots(page), "No rated match of Nim, classic in this season yet" in page) == ([], True)
    page = visitor.get("/leaderboard/nim/classic?season=FIRST&sort=bot&order=asc&search=n").text
    assert bots(page) == ["ann", "dan"]
    assert "rated in Nim, classic in season FIRST" in page
    assert '<a href="?season=first" aria-current="page">season first</a>' in page
    assert '<a href="?">season autumn</a>' in page
    assert json.loads(visitor.get("/api/v1/leaderboard/nim/classic?season=first").text) == before


def test_any_column_sorts_both_ways(visitor: Visitor) -> None:
    season(visitor.store)
    assert bots(visitor.get("/leaderboard?sort=bot&order=asc").text) == ["ann", "bob", "cid", "dan"]
    assert bots(visitor.get("/leaderboard?sort=bot&order=desc").text) == ["dan", "cid", "bob", "ann"]


def test_a_search_finds_parts_of_names_in_any_case(visitor: Visitor) -> None:
    season(visitor.store)
    assert bots(visitor.get("/leaderboard?search=AN").text) == bots(visitor.get("/leaderboard?search=an").text)
    assert sorted(bots(visitor.get("/leaderboard?search=an").text)) == ["ann", "dan"]
    assert "has “zoe” in its name" in visitor.get("/leaderboard?search=zoe").text


def test_fifty_bots_a_page(visitor: Visitor) -> None:
    finish(visitor.store, *(result(f"m{n}", (f"bot{2 * n}", f"bot{2 * n + 1}")) for n in range(35)))
    first = visitor.get("/leaderboard?sort=bot&order=asc").text
    link = re.search(r'href="(\?[^"]*)" rel="next"', first)
    assert link is not None
    second = visitor.get("/leaderboard" + link[1].replace("&amp;", "&")).text
    assert len(bots(first)) == 50
    assert len(bots(second)) == 20
    assert not set(bots(first)) & set(bots(second))
    assert 'rel="next"' not in second


def test_a_game_has_the_leaderboards_of_its_presets(visitor: Visitor) -> None:
    finish(visitor.store, result("m1", pool="nim/classic"), result("m2", pool="nim/misere"))
    page = visitor.get("/leaderboard/nim").text
    assert 'href="/leaderboard/nim/misere"' in page
    assert 'href="/leaderboard/nim/classic" aria-current="page">Classic</a>' in page


def test_the_leaderboard_of_no_game_says_which_one_it_shows_and_so_what_it_renews(visitor: Visitor) -> None:
    finish(visitor.store, result("m1", pool="tictactoe/classic"))
    shown = visitor.get("/leaderboard").text
    assert 'data-address="/leaderboard/tictactoe/classic"' in shown
    finish(visitor.store, result("m2", pool="nim/classic"))
    assert 'data-address="/leaderboard/nim/classic"' in visitor.get("/leaderboard").text
    assert "<h1>Leaderboard: Tic-tac-toe, classic</h1>" in visitor.get("/leaderboard/tictactoe/classic").text


def test_a_game_that_nobody_played_is_no_error(visitor: Visitor) -> None:
    answer = visitor.get("/leaderboard/grundy")
    assert answer.status == 200
    assert "No rated matches of Grundy’s game yet" in answer.text


def dilemma(visitor: Visitor) -> None:
    """Who defects is paid more than each opponent, and less than they in the mean."""
    finish(
        visitor.store,
        *(paid(f"k{number}", ("tft", "grim"), (3.0, 3.0)) for number in range(2)),
        *(paid(f"n{number}", ("tft", "nasty"), (0.995, 1.02)) for number in range(2)),
        *(paid(f"o{number}", ("nasty", "grim"), (1.02, 0.5)) for number in range(2)),
    )


def test_where_payoffs_are_the_result_bots_stand_by_them(visitor: Visitor) -> None:
    dilemma(visitor)
    page = visitor.get("/leaderboard/dilemma/axelrod").text
    assert bots(page) == ["tft", "grim", "nasty"]
    assert 'aria-sort="descending"><a href="?sort=payoff&amp;order=asc">Payoff a round' in page
    assert '<td class="number">1.998</td>' in page
    assert bots(visitor.get("/leaderboard/dilemma/axelrod?sort=score").text)[0] == "nasty"
    assert bots(visitor.get("/leaderboard/dilemma/axelrod?sort=payoff&order=asc").text) == ["nasty", "grim", "tft"]


def test_the_start_page_the_wall_and_a_bots_page_tell_payoffs(visitor: Visitor) -> None:
    dilemma(visitor)
    for address in ("/", "/wall"):
        page = visitor.get(address).text
        assert "Payoff a round</span>" in page
        assert page.index(">tft</a>") < page.index(">grim</a>")
        assert "1.998" in page
    page = visitor.get("/bots/nasty").text
    assert "<b>3rd</b> of 3" in page
    assert "payoff <b>1.020</b> a round" in page
    assert "Payoff a round</th>" in page


def test_the_api_has_payoffs_with_their_intervals_where_there_are_any(visitor: Visitor) -> None:
    dilemma(visitor)
    season(visitor.store)
    rows = json.loads(visitor.get("/api/v1/leaderboard/dilemma/axelrod").text)["rows"]
    paid_each = {"mean": 1.9975, "low": 1.9975, "high": 1.9975, "opponents": 2}
    assert rows[0]["payoff"] == {**paid_each, "rounds": 800, "ranked": False}
    assert "payoff" not in json.loads(visitor.get("/api/v1/leaderboard/nim/classic").text)["rows"][0]


def test_page_api_and_terminal_put_a_bot_with_one_opponent_below_those_with_three(visitor: Visitor) -> None:
    for number, pair in enumerate(itertools.combinations(["ann", "bob", "cid", "dan"], 2)):
        finish(visitor.store, *(paid(f"h{number}-{at}", pair, (1.0 + number / 8, 1.1)) for at in (0, 1)))
    finish(visitor.store, *(paid(f"k{number}", ("king", "puppet"), (5.0, 0.0)) for number in range(10)))
    order = [row.bot for row in visitor.store.read(leaderboard_of, "dilemma/axelrod")]
    assert order[-2:] == ["king", "puppet"]
    rows = json.loads(visitor.get("/api/v1/leaderboard/dilemma/axelrod").text)["rows"]
    assert [row["bot"] for row in rows] == order
    assert [row["rank"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["payoff"]["ranked"] for row in rows] == [True] * 4 + [False] * 2
    page = visitor.get("/leaderboard/dilemma/axelrod").text
    assert bots(page) == order
    assert "fewer than 3 opponents or 600 rounds" in page
    printed = on_terminal(
        lambda: leaderboard(str(visitor.store.database), None, None, people=False, to_json=False, to_csv=False)
    )
    assert re.findall(r"^\d +(\w+) ", printed, re.MULTILINE) == order
    assert "* too few matches, rounds or opponents to say much" in printed


def test_people_stand_in_a_table_of_their_own_with_the_bots_that_they_met(visitor: Visitor) -> None:
    season(visitor.store)
    assert 'aria-label="Bots and people"' not in visitor.get("/leaderboard/nim/classic").text
    finish(visitor.store, result("p1", ("zoe", "level-2"), pool="nim/classic:people"))
    visitor.store.write(set_people, ["zoe"], person=True)
    page = visitor.get("/leaderboard/nim/classic").text
    assert ("zoe" in bots(page), '<a href="/leaderboard/nim/classic:people">People</a>' in page) == (False, True)
    page = visitor.get("/leaderboard/nim/classic:people").text
    assert bots(page) == ["zoe", "level-2"]
    assert "Nim, classic, people" in page
    assert re.findall(r'<span class="badge">bot</span>', page) == ['<span class="badge">bot</span>']
    assert '<a href="/leaderboard/nim/classic">Bots</a>' in page
    assert json.loads(visitor.get("/api/v1/pools?game=nim").text)["rows"][-1] == {
        "game": "nim",
        "pool": "nim/classic:people",
        "people": True,
    }
    rows = json.loads(visitor.get("/api/v1/leaderboard/nim/classic:people").text)["rows"]
    assert [(row["bot"], row.get("person", False)) for row in rows] == [("zoe", True), ("level-2", False)]
