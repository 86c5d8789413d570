"""The page of a bot: its numbers by pool, how its matches ended, and what is said where there is none."""

from __future__ import annotations

import re

import pytest

from arena.store.registry import set_people
from arena.store.seasons import start_season
from seasons import finish, result, season
from web_client import Visitor, code


def section(page: str, name: str) -> str:
    """A page's part under the heading with this id."""
    return re.split(r"<h[23]", page.split(f'id="{name}"', 1)[1], maxsplit=1)[0]


def test_a_bot_is_shown_in_the_pool_where_it_played_most(visitor: Visitor) -> None:
    season(visitor.store)
    page = visitor.get("/bots/ann").text
    assert "Latest matches in Nim, classic" in page
    assert 'class="plot history"' in page
    assert re.search(r"\d of 4", section(page, "standings"))


def test_under_the_rating_each_day_is_said_once(visitor: Visitor) -> None:
    for number in range(9):
        finish(visitor.store, result(f"m{number}", finished=f"2026-01-0{1 + number // 8}T00:00:09.000Z"))
    assert re.findall(r">(\d{4}-\d\d-\d\d)</text>", visitor.get("/bots/ann").text) == ["2026-01-01", "2026-01-02"]


def test_thinking_is_said_to_hold_the_pauses_of_a_bot(visitor: Visitor) -> None:
    season(visitor.store)
    assert "includes the pause that lets people follow" in section(visitor.get("/bots/ann").text, "standings")


def test_another_pool_has_an_address_of_its_own(visitor: Visitor) -> None:
    season(visitor.store)
    assert "Latest matches in Tic-tac-toe, classic" in visitor.get("/bots/ann?pool=tictactoe/classic").text
    answer = visitor.get("/bots/ann?pool=grundy/large")
    assert answer.status == 404
    assert "Ann has no matches in grundy/large" in answer.text


def test_losses_say_how_they_came_about_and_lead_to_their_last_ply(visitor: Visitor) -> None:
    finish(
        visitor.store,
        result("m1", ("bob", "ann")),
        result("m2", ("bob", "ann"), reason="timeout", reasons=("win", "timeout")),
        result("m3", ("bob", "ann"), reason="illegal", reasons=("win", "illegal")),
        result("m4", ("bob", "ann"), reason="disconnected", reasons=("win", "disconnected")),
        result("m5", ("bob", "ann"), reason="resigned", reasons=("win", "resigned")),
    )
    endings = section(visitor.get("/bots/ann").text, "endings")
    for number, word in enumerate(("played to the end", "time", "illegal moves", "lost connection", "resigned"), 1):
        assert f">{word}</a>" in endings
        assert f'href="/matches/m{number}#ply=7"' in endings
    assert "outcome=lost&amp;reason=timeout" in endings


def test_opponents_seats_and_versions_are_counted(visitor: Visitor) -> None:
    finish(
        visitor.store,
        result("m1", ("ann", "bob"), version="1"),
        result("m2", ("bob", "ann"), version="2"),
        result("m3", ("ann", "bob"), (1, 1), reason="draw", version="2"),
    )
    page = visitor.get("/bots/ann").text
    assert re.search(r">bob</a></th>.*?>3</a>.*?>1<.*?>1<.*?>1<.*50\.0", section(page, "opponents"), re.S)
    assert re.findall(r">(Seat \d)", section(page, "seats")) == ["Seat 1", "Seat 2"]
    versions = section(page, "versions")
    assert re.findall(r">(\d)</a></th>", versions) == ["2", "1"]
    shares = re.findall(r'<td class="number">([^<]*\([^<]*)</td>', versions)
    assert shares == ["25.0\u202f% (2.7–80.2)", "−75.0\u202f% (−100.0 to +44.4)", "100.0\u202f% (20.7–100.0)"]


def test_a_bot_with_unrated_matches_alone_has_no_rating(visitor: Visitor) -> None:
    finish(visitor.store, result("m1", rated=False))
    page = visitor.get("/bots/ann").text
    assert "Latest matches in Nim, unrated" in page
    assert "plot history" not in page


def test_a_bot_is_found_in_any_case(visitor: Visitor) -> None:
    finish(visitor.store, result("m1"))
    assert "<h1>ann</h1>" in visitor.get("/bots/ANN").text


def test_links_to_the_ends_of_matches_differ_in_their_words(visitor: Visitor) -> None:
    finish(visitor.store, result("m1"), result("m2", finished="2026-01-01T00:01:09.000Z"))
    links = re.findall(r"<a href=\"/matches/[^?].*?</a>", section(visitor.get("/bots/ann").text, "endings"))
    assert [re.sub("<[^>]*>", "", link) for link in links] == ["2026-01-01 00:01, move 7", "2026-01-01 00:00, move 7"]


def test_opponents_on_several_pages_are_not_sorted_page_by_page(visitor: Visitor) -> None:
    finish(visitor.store, *(result(f"m{n}", ("ann", f"bot{n}")) for n in range(25)))
    assert "data-sortable" in visitor.get("/bots/ann").text
    finish(visitor.store, result("m25", ("ann", "bot25")))
    first = visitor.get("/bots/ann").text
    assert "data-sortable" not in first
    link = re.search(r'href="(\?[^"#]*)#opponents" rel="next"', first)
    assert link is not None
    assert "data-sortable" not in visitor.get("/bots/ann" + link[1].replace("&amp;", "&")).text


@pytest.mark.parametrize(("version", "is_shown"), [("", False), ("2", True)])
def test_versions_are_shown_where_there_is_one(visitor: Visitor, version: str, *, is_shown: bool) -> None:
    finish(visitor.store, result("m1", version=version))
    for address in ("/bots/ann", "/leaderboard", "/matches/m1"):
        assert (
            bool(re.search(r"<th scope=\"col\">Version|>Version \d|By version", visitor.get(address).text)) == is_shown
        ), address


def test_a_bot_of_an_earlier_season_has_finished_its_matches_still(visitor: Visitor) -> None:
    finish(visitor.store, result("m1"), result("m2"), result("m3", pool="tictactoe/classic"))
    visitor.store.write(start_season, "autumn")
    page = visitor.get("/bots/ann").text
    assert "has not finished a match yet" not in page
    assert "no rated match in this season" in section(page, "standings")
    assert 'href="/matches/m1?bot=ann"' in section(page, "recent")
    finish(visitor.store, result("m4", pool="tictactoe/classic"))
    assert "Latest matches in Nim, classic" in visitor.get("/bots/ann?pool=nim/classic").text


def test_the_first_line_says_rank_rating_and_form(visitor: Visitor) -> None:
    finish(
        visitor.store,
        result("m1", ("bob", "ann")),
        result("m2", ("ann", "bob"), (1, 1), reason="draw"),
        result("m3", ("ann", "cid")),
    )
    head = visitor.get("/bots/ann").text.split("<h1>", 1)[1].split("<h2", 1)[0]
    assert "<b>1st</b> of 3" in head
    assert re.search(r"rating <b>\d\d\.\d ± \d+\.\d</b>", head)
    assert re.findall(r'href="/matches/(\w+)" title="([^,]*),[^>]*>([WDL])<', head) == [
        ("m3", "ann beat cid", "W"),
        ("m2", "ann drew with bob", "D"),
        ("m1", "bob beat ann", "L"),
    ]


def test_every_tab_is_an_anchor_of_a_section(visitor: Visitor) -> None:
    season(visitor.store)
    page = visitor.get("/bots/ann").text
    tabs = page.split("data-tabs", 1)[1].split("</nav>", 1)[0]
    anchors = re.findall(r'href="#(\w+)"', tabs)
    assert anchors[:3] == ["recent", "opponents", "rating"]
    assert [page.count(f'<h2 id="{anchor}">') for anchor in anchors] == [1] * len(anchors)
    assert page.count("<section data-tab") == len(anchors)


def test_a_person_is_shown_the_bot_to_meet_next(visitor: Visitor) -> None:
    pool = "nim/classic:people"
    finish(visitor.store, result("p1", ("level-2", "zoe"), pool=pool), result("p2", ("level-3", "level-2"), pool=pool))
    visitor.store.write(set_people, ["zoe"], person=True)
    page = visitor.get("/bots/zoe").text
    assert "A person · " in page
    assert re.search(r'Ranked next above in Nim, classic, people: <a href="/bots/level-2"[^>]*>level-2</a>', page)
    assert "Next higher rating" not in visitor.get("/bots/level-3").text


def test_a_bots_page_has_the_command_that_compares_versions_in_the_pool_that_is_shown(visitor: Visitor) -> None:
    finish(visitor.store, result("m1"), result("m2", rated=False), result("m3", pool="nim/classic:people"))
    visitor.store.write(set_people, ["bob"], person=True)
    commands = {
        address: code(visitor.get(f"/bots/ann{address}").text, "python-compare")
        for address in ("", "?pool=nim/unrated", "?pool=nim/classic:people")
    }
    assert commands == {
        "": "python my_bot.py --game nim --preset classic --against my_bot_old.py",
        "?pool=nim/unrated": "python my_bot.py --game nim --against my_bot_old.py",
        "?pool=nim/classic:people": "python my_bot.py --game nim --preset classic --against my_bot_old.py",
    }
    assert "python-compare" not in visitor.get("/bots/bob").text
