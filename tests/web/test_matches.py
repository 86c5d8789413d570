"""The list of matches: what a search finds, its address, and what is said of fields that are wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from seasons import finish, result
from web_client import Visitor, open_pages


def found(text: str) -> list[str]:
    """The matches of a table, from its top."""
    return re.findall(r'<th scope="row"><a href="/matches/([^"?]*)[^"]*"', text)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A visitor of an arena where a few matches ended in different ways, to which nothing is added."""
    with open_pages(tmp_path_factory.mktemp("matches")) as visitor:
        finish(
            visitor.store,
            result("m1", finished="2026-01-01T10:00:00.000Z"),
            result(
                "m2", ("bob", "cid"), reason="timeout", reasons=("win", "timeout"), finished="2026-01-02T10:00:00.000Z"
            ),
            result("m3", ("cid", "ann"), pool="tictactoe/classic", finished="2026-01-03T10:00:00.000Z"),
            result("m4", ("ann", "bob"), (1, 1), reason="draw", rated=False, finished="2026-01-04T10:00:00.000Z"),
        )
        yield visitor


def test_all_matches_newest_first(played: Visitor) -> None:
    page = played.get("/matches").text
    assert found(page) == ["m4", "m3", "m2", "m1"]
    assert "All matches, newest first: 4" in page


def test_a_line_begins_with_who_beat_whom_and_says_the_game_by_its_title(played: Visitor) -> None:
    lines = re.findall(
        r'<th scope="row"><a [^>]*>([^<]*)</a></th>\s*<td [^>]*>([^<]*)</td>', played.get("/matches").text
    )
    assert lines == [
        ("ann drew with bob", "Nim, unrated"),
        ("cid beat ann", "Tic-tac-toe, classic"),
        ("bob beat cid", "Nim, classic"),
        ("ann beat bob", "Nim, classic"),
    ]


@pytest.mark.parametrize(
    ("ranks", "reason", "told"),
    [
        ((1, 2, 3), "win", "ann won against bob, cid"),
        ((3, 1, 2), "win", "bob won against cid, ann"),
        ((1, 1, 3), "round_limit", "ann and bob drew ahead of cid"),
        ((1, 1, 1), "draw", "ann drew with bob, cid"),
        ((1, 1, 1), "void", "ann, bob, cid: called off"),
    ],
)
def test_of_several_the_first_is_said_before_the_others(
    visitor: Visitor, ranks: tuple[int, ...], reason: str, told: str
) -> None:
    finish(visitor.store, result("m1", ("ann", "bob", "cid"), ranks, reason=reason, rated=reason != "void"))
    assert f'href="/matches/m1">{told}</a>' in visitor.get("/matches").text


def test_a_time_has_its_moment_for_scripts_and_without_them(played: Visitor) -> None:
    moment = (
        '<time datetime="2026-01-04T10:00:00.000Z" title="2026-01-04 10:00 UTC" data-ago>2026-01-04 10:00 UTC</time>'
    )
    assert moment in played.get("/matches").text


@pytest.mark.parametrize(("query", "is_open"), [("", False), ("bot=ann&game=nim", False), ("since=2026-01-02", True)])
def test_only_two_fields_are_in_sight_until_another_is_used(played: Visitor, query: str, *, is_open: bool) -> None:
    page = played.get(f"/matches?{query}").text
    before, folded = page.split("<form", 1)[1].split("<details", 1)
    assert re.findall(r'<(?:input|select) id="(\w+)"', before) == ["bot", "game"]
    assert folded.startswith(" open>") == is_open


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("bot=ANN", ["m4", "m3", "m1"]),
        ("bot=ann&opponent=bob", ["m4", "m1"]),
        ("bot=ann&outcome=lost", ["m3"]),
        ("bot=cid&reason=timeout", ["m2"]),
        ("game=tictactoe", ["m3"]),
        ("pool=nim/unrated", ["m4"]),
        ("since=2026-01-02&until=2026-01-03", ["m3", "m2"]),
        ("since=20260102&until=20260103", ["m3", "m2"]),
        ("bot=&game=&since=", ["m4", "m3", "m2", "m1"]),
    ],
)
def test_a_search_is_its_address(played: Visitor, query: str, expected: list[str]) -> None:
    assert found(played.get(f"/matches?{query}").text) == expected


def test_an_outcome_is_asked_for_as_one_of_the_bot(played: Visitor) -> None:
    assert '<label for="outcome">Outcome for the bot</label>' in played.get("/matches").text


def test_what_is_searched_for_is_said_and_stands_in_the_form(played: Visitor) -> None:
    page = played.get("/matches?bot=ann&outcome=lost&since=2026-01-02").text
    assert "Matches with ann, outcome: lost, from 2026-01-02 on, newest first: 1" in page
    assert 'name="bot" type="text" value="ann"' in page
    assert '<option value="lost" selected>' in page
    assert "For ann" in page


@pytest.mark.parametrize(
    ("query", "field", "sentence"),
    [
        ("game=chess", "game", "There is no game chess"),
        ("pool=nim/none", "pool", "There is no pool &#39;nim/none&#39;: one of "),
        ("reason=luck", "reason", "There is no reason luck"),
        ("since=yesterday", "since", "Yesterday is not a date"),
        ("opponent=bob", "opponent", "Needs a bot: name one"),
        ("since=2026-02-01&until=2026-01-01", "until", "Is before From"),
        ("since=2026-01-01T12:00&until=2026-01-01T11:00", "until", "Is before From"),
    ],
)
def test_a_wrong_field_is_said_beside_it(played: Visitor, query: str, field: str, sentence: str) -> None:
    answer = played.get(f"/matches?{query}")
    assert answer.status == 400
    assert re.search(rf'<span class="wrong" id="{field}-wrong">{re.escape(sentence)}', answer.text)


def test_the_list_of_a_bot_leads_to_its_moves(played: Visitor) -> None:
    assert 'href="/matches/m2?bot=Bob"' in played.get("/matches?bot=Bob").text
    assert 'href="/matches/m2"' in played.get("/matches").text


def test_a_name_that_nobody_has_is_said(played: Visitor) -> None:
    answer = played.get("/matches?bot=zoe")
    assert answer.status == 200
    assert 'id="bot-wrong">There is no bot called &#39;zoe&#39;' in answer.text


def test_pages_lead_through_all_matches(visitor: Visitor) -> None:
    finish(visitor.store, *(result(f"m{n:03d}") for n in range(120)))
    seen, address = [], "/matches?bot=ann"
    while address:
        page = visitor.get(address).text
        seen += found(page)
        link = re.search(r'href="(\?[^"]*)" rel="next"', page)
        address = "/matches" + link[1].replace("&amp;", "&") if link else ""
    assert seen == [f"m{n:03d}" for n in reversed(range(120))]


def test_an_arena_without_matches_says_how_to_begin(visitor: Visitor) -> None:
    assert "No match has finished yet" in visitor.get("/matches").text
