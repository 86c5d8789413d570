"""The tournaments: the list, the table that the terminal shows, everyone against everyone, a tournament under way."""

from __future__ import annotations

import re

import pytest
from msgspec import json

from arena.store.luck_value import MatchLuck
from arena.store.match_luck import save_luck
from arena.store.planned import PlanDraft, PlannedTerms, add_plan, begin_plan, find_plan, remove_plan
from arena.store.store import Store
from arena.store.tournament_state import finish_tournament, open_tournament
from seasons import ROUND_ROBIN, finish, paid, result
from web_client import Visitor

ARGUMENTS = {
    **ROUND_ROBIN,
    "bots": ["ann", "bob=python /home/me/secret.py", "cid"],
}


FIRST = re.compile(r'<td data-label="Winner">(.*?)</td>')
"""Who is first, in the list."""


def began(store: Store) -> str:
    """A tournament of three bots, of which nothing is played; its id."""
    return store.write(open_tournament, json.encode(ARGUMENTS, order="sorted").decode(), "7")[0]


@pytest.fixture
def tournament(visitor: Visitor) -> str:
    """One of whose three matches two are played."""
    name = began(visitor.store)
    finish(
        visitor.store,
        result("m1", ("ann", "bob"), tournament=name, place=0),
        result("m2", ("cid", "ann"), (1, 1), reason="draw", tournament=name, place=1),
    )
    return name


def test_tournaments_are_listed_with_how_far_they_are(visitor: Visitor, tournament: str) -> None:
    page = visitor.get("/tournaments").text
    assert f'href="/tournaments/{tournament}"' in page
    assert "2 of 3" in page
    assert ">Nim, classic</a>" in page
    assert ">round robin</td>" in page
    assert "not finished" in page


def test_what_is_all_there_is_is_counted_once_and_one_is_one(visitor: Visitor) -> None:
    began(visitor.store)
    assert ">1 tournament</span>" in visitor.get("/tournaments").text
    visitor.store.write(open_tournament, json.encode({**ARGUMENTS, "rounds": 2}, order="sorted").decode(), "8")
    assert ">2 tournaments</span>" in visitor.get("/tournaments").text
    finish(visitor.store, *(result(f"m{number}") for number in range(51)))
    assert ">50 of 51 matches</span>" in visitor.get("/matches").text


def test_an_arena_without_tournaments_says_how_to_play_one(visitor: Visitor) -> None:
    assert "arena tournament random greedy perfect" in visitor.get("/tournaments").text


def test_a_tournament_under_way_shows_its_progress_and_its_table(visitor: Visitor, tournament: str) -> None:
    page = visitor.get(f"/tournaments/{tournament}").text
    assert '<progress aria-labelledby="played" value="2" max="3">' in page
    assert "tournament.js" in page
    rows = re.findall(
        r'<td class="number">(\d)</td><td class="number">.+?</td><th scope="row"><a href="/bots/(\w+)".*?>(\d+\.\d)',
        page,
    )
    assert rows == [("1", "ann", "75.0"), ("2", "cid", "50.0"), ("3", "bob", "0.0")]


def test_places_go_by_score_and_a_note_says_which_bots_the_matches_tell_apart(visitor: Visitor) -> None:
    name = began(visitor.store)
    lost = [result(f"m{place}", ("ann", "bob"), tournament=name, place=place) for place in range(12)]
    for matches, ranges, note in (
        (lost[:1], ["1–2", "1–2", "–"], "that any bot is better than another"),
        (lost[1:], ["1", "2", "–"], "the order of all bots."),
    ):
        finish(visitor.store, *matches)
        page = visitor.get(f"/tournaments/{name}").text
        shown = re.findall(
            r'<td class="number">(.)</td><td class="number">(.+?)</td><th scope="row"><a href="/bots/', page
        )
        assert shown == list(zip(["1", "2", "–"], ranges, strict=True))
        assert note in page


def test_where_luck_is_known_bots_are_in_the_order_of_scores_less_luck(visitor: Visitor) -> None:
    told = json.encode({**ARGUMENTS, "bots": ["ann", "bob"], "paired": True, "rounds": 4}, order="sorted").decode()
    name = visitor.store.write(open_tournament, told, "7")[0]
    seats = [("ann", "bob"), ("bob", "ann")] * 4
    ranks = [(1, 2) if pair[0] == "ann" else (2, 1) for pair in seats]
    ranks[-1] = (1, 2)
    finish(
        visitor.store,
        *(
            result(f"m{place}", pair, ranks[place], tournament=name, place=place, rated=False)
            for place, pair in enumerate(seats)
        ),
    )
    assert ">Adjusted</th>" not in visitor.get(f"/tournaments/{name}").text
    lucks = {f"m{place}": MatchLuck("exact", 0.6 if place % 2 == 0 else -0.6) for place in range(8)}
    visitor.store.write(save_luck, lucks)
    finish(visitor.store, result("void", seats[0], (1, 1), reason="void", tournament=name, place=8, rated=False))
    page = visitor.get(f"/tournaments/{name}").text
    assert "<b>bob</b> leads with 72.5\u202f% of the points, adjusted for luck." in page
    visitor.store.write(finish_tournament, name)
    assert FIRST.findall(visitor.get("/tournaments").text) == ['<a href="/bots/bob">bob</a>']
    matches = json.decode(visitor.get(f"/api/v1/matches?tournament={name}").body)["rows"]
    assert {match["match"]: match["start"] for match in matches} == {
        **{f"m{place}": f"{name}/{place // 2}" for place in range(8)},
        "void": f"{name}/4",
    }


def test_who_leads_and_at_last_who_won_stands_under_the_title_with_whom_chance_may_have_put_behind(
    visitor: Visitor, tournament: str
) -> None:
    under_way = visitor.get(f"/tournaments/{tournament}").text
    assert "<b>ann</b> leads with 75.0\u202f% of the points." in under_way
    assert "This may be chance: cid and bob may be as good or better" in under_way
    finish(visitor.store, result("m3", ("bob", "cid"), (2, 1), tournament=tournament, place=2))
    visitor.store.write(finish_tournament, tournament)
    tied = visitor.get(f"/tournaments/{tournament}").text
    assert "<b>ann and cid</b> share first place, each with 75.0\u202f%" in tied


def test_the_list_names_the_winner_of_each_tournament_that_is_over(visitor: Visitor, tournament: str) -> None:
    assert FIRST.findall(visitor.get("/tournaments").text) == [""]
    finish(visitor.store, result("m3", ("bob", "cid"), tournament=tournament, place=2))
    visitor.store.write(finish_tournament, tournament)
    assert FIRST.findall(visitor.get("/tournaments").text) == ['<a href="/bots/ann">ann</a>']


def test_the_clock_is_told_with_its_units(visitor: Visitor, tournament: str) -> None:
    assert "10\u202fs + 0.1\u202fs a move" in visitor.get(f"/tournaments/{tournament}").text


def test_a_pair_in_the_cross_table_leads_to_its_matches(visitor: Visitor, tournament: str) -> None:
    page = visitor.get(f"/tournaments/{tournament}").text
    link = re.search(r'href="(/matches\?bot=ann&amp;opponent=bob&amp;tournament=\w+)">100</a>', page)
    assert link is not None
    assert 'href="/matches/m1?bot=ann"' in visitor.get(link[1].replace("&amp;", "&")).text


def test_one_that_is_over_looks_no_more(visitor: Visitor, tournament: str) -> None:
    finish(visitor.store, result("m3", ("bob", "cid"), tournament=tournament, place=2))
    visitor.store.write(finish_tournament, tournament)
    page = visitor.get(f"/tournaments/{tournament}").text
    assert "3 of 3 matches played, finished" in page
    assert "tournament.js" not in page


def test_one_that_has_only_begun_has_a_page(visitor: Visitor) -> None:
    page = visitor.get(f"/tournaments/{began(visitor.store)}")
    assert page.status == 200
    assert "0 of 3" in page.text


def test_one_that_the_operator_stopped_has_ended_early_and_tells_its_seed(visitor: Visitor) -> None:
    store, now = visitor.store, "2026-01-01T00:00:00.000Z"
    draft = PlanDraft(title="Cup", terms=PlannedTerms(game="nim"), closes=now, starts=now)
    plan = store.read(find_plan, store.write(add_plan, draft))
    name = store.write(begin_plan, plan, json.encode(ARGUMENTS, order="sorted").decode(), "7", [], "", None)
    finish(store, result("m1", ("ann", "bob"), tournament=name, place=0))
    assert "1 of 3 matches played, not finished." in visitor.get(f"/tournaments/{name}").text
    store.write(remove_plan, plan.id)
    page = visitor.get(f"/tournaments/{name}").text
    assert "1 of 3 matches played, ended early." in page
    assert "<progress" not in page
    assert "tournament.js" not in page
    assert '<span class="badge">ended early</span>' in visitor.get("/tournaments").text
    told = json.decode(visitor.get(f"/api/v1/tournaments/{name}").body)
    assert (told["finished"], told["ended_early"], bool(told["seed"])) == (None, True, True)


def test_a_test_of_as_many_pairs_as_it_takes_has_a_page_and_no_end_in_sight(visitor: Visitor) -> None:
    told = {"bots": ["ann", "bob"], "format": "test", "paired": True, "rounds": None}
    name = visitor.store.write(open_tournament, json.encode({**ARGUMENTS, **told}, order="sorted").decode(), "7")[0]
    finish(visitor.store, result("m1", tournament=name, place=0, rated=False))
    under_way = visitor.get(f"/tournaments/{name}").text
    assert "1 match played, not finished" in under_way
    assert "<progress" not in under_way
    assert "not rated: tests never are" in under_way
    assert "as many as needed, each start position twice" in under_way
    visitor.store.write(finish_tournament, name)
    assert "1 match played, finished" in visitor.get(f"/tournaments/{name}").text
    listed = visitor.get("/tournaments").text
    assert '<td data-label="Matches" data-noun="match" class="number">1</td>' in listed
    assert json.decode(visitor.get(f"/api/v1/tournaments/{name}").body)["planned"] is None


def test_it_tells_no_command_lines(visitor: Visitor, tournament: str) -> None:
    assert "secret" not in visitor.get(f"/tournaments/{tournament}").text


def test_where_payoffs_are_the_result_the_table_and_the_winner_are_by_them(visitor: Visitor) -> None:
    arguments = {**ARGUMENTS, "game": "dilemma", "config": {"preset": "axelrod"}, "bots": ["tft", "grim", "nasty"]}
    name = visitor.store.write(open_tournament, json.encode(arguments, order="sorted").decode(), "7")[0]
    finish(
        visitor.store,
        paid("m1", ("tft", "grim"), (3.0, 3.0), tournament=name, place=0),
        paid("m2", ("nasty", "tft"), (1.02, 0.995), tournament=name, place=1),
        paid("m3", ("grim", "nasty"), (0.99, 1.02), tournament=name, place=2),
    )
    visitor.store.write(finish_tournament, name)
    page = visitor.get(f"/tournaments/{name}").text
    assert "<b>tft</b> won with 1.998 a round." in page
    assert ">0.99</a>" in page
    assert "No two bots met twice" in page
    assert "Beyond chance" not in page
    assert "Share of points" not in page
    assert re.search(r'data-label="Winner"><a [^>]*>tft</a></td>', visitor.get("/tournaments").text)
    told = json.decode(visitor.get(f"/api/v1/tournaments/{name}").text)
    assert told["table"][0]["payoff"]["mean"] == 1.9975
    assert told["payoffs"]["nasty"]["grim"] == {"mean": 1.02, "low": None, "high": None, "opponents": 1}


def test_a_tournament_of_hosted_bots_has_its_title_and_the_versions_that_entered(visitor: Visitor) -> None:
    hosted = {"ann": {"version": 3, "digest": "a3"}, "cid": {"version": 1, "digest": "c1", "late": True}}
    arguments = {**ARGUMENTS, "bots": ["ann", "cid"], "hosted": hosted, "rated": False, "title": "Cup <1>"}
    arguments |= {"as_of": "2026-11-29T12:00:00.000Z"}
    name = visitor.store.write(open_tournament, json.encode(arguments, order="sorted").decode(), "7")[0]
    finish(visitor.store, result("m1", ("ann", "cid"), tournament=name, place=0))
    page = visitor.get(f"/tournaments/{name}").text
    assert "<h1>Cup &lt;1&gt;: round robin</h1>" in page
    assert re.findall(r'<th scope="row"><a href="/bots/(\w+)".*?</th><td class="number">(.*?)</td>', page)[:2] == [
        ("ann", "3"),
        ("cid", "1, late"),
    ]
    assert "Entries closed" in page
    assert "Cup &lt;1&gt;" in visitor.get("/tournaments").text


def test_planned_tournaments_are_listed_before_they_begin(visitor: Visitor) -> None:
    closes, starts = "2026-12-24T18:00:00.000Z", "2026-12-24T20:00:00.000Z"
    terms = PlannedTerms(game="nim", online=True)
    draft = PlanDraft(title="Final <1>", terms=terms, closes=closes, starts=starts, nightly=True)
    visitor.store.write(add_plan, draft)
    page = visitor.get("/tournaments").text
    row = page[page.index("Final &lt;1&gt;") :]
    assert [
        row.index(text)
        for text in (
            "each day",
            "bots online",
            "it must be online when entries close",
            ">Nim<",
            f'datetime="{closes}"',
            f'datetime="{starts}"',
        )
    ]
    assert "arena tournament random greedy perfect" in page
