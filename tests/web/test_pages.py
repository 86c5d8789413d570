"""Every page over a store: what it says where something is wrong, and what a browser may do with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from arena.web.client_wheel import build_client_wheel
from seasons import finish, result, season
from web_client import Visitor, open_pages

EVIL = "%3Cimg%20src=x%20onerror=alert(1)%3E"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A visitor of an arena with a season of matches, to which nothing is added."""
    with open_pages(tmp_path_factory.mktemp("pages")) as visitor:
        season(visitor.store)
        yield visitor


@pytest.mark.parametrize(
    ("address", "status", "sentence"),
    [
        ("/nothing", 404, "There is nothing at /nothing."),
        ("/leaderboard/chess", 404, "There is no game &#39;chess&#39;: one of nim"),
        ("/leaderboard/chess/classic", 404, "There is no game &#39;chess&#39;: one of nim"),
        ("/leaderboard/nim/odd", 404, "Nim has no preset &#39;odd&#39;: one of classic"),
        ("/leaderboard?after=zzz", 400, "&#39;zzz&#39; is no cursor of this list"),
        ("/leaderboard?sort=luck", 400, "There is no order"),
        ("/leaderboard/nim/classic?season=spring", 400, "There is no season"),
        ("/bots/zoe", 404, "There is no bot called &#39;zoe&#39;"),
        ("/bots/%1b[0m%00", 404, "There is no bot called &#39;\\x1b[0m\\x00&#39;."),
        ("/matches/nothing", 404, "There is no match nothing here."),
        ("/matches/No-Match", 404, "There is no match No-Match here."),
        (f"/matches/{'a' * 41}", 404, f"There is no match {'a' * 41} here."),
        ("/matches/%1b[0m%00", 404, "There is no match \\x1b[0m\\x00 here."),
        ("/matches?after=zzz", 400, "Show the newest"),
        ("/tournaments/t0", 404, "There is no tournament &#39;t0&#39;"),
        ("/tournaments?after=zzz", 400, "&#39;zzz&#39; is no cursor of this list"),
        ("/rules/chess", 404, "There is no game chess: one of nim"),
        (f"/connect?bot={EVIL}", 400, "A name has 1 to 32 letters"),
        ("/download/bot_arena_client-0.0.1-py3-none-any.whl", 404, build_client_wheel().name),
        ("/docs/nothing", 404, "nothing"),
        ("/docs/../pyproject.toml", 404, "pyproject.toml"),
        ("/docs/%2e%2e/pyproject.toml", 404, "pyproject.toml"),
        ("/docs//etc/passwd", 404, "/etc/passwd"),
        ("/docs/examples", 404, "examples"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence_on_a_page(
    played: Visitor, address: str, status: int, sentence: str
) -> None:
    answer = played.get(address)
    assert (answer.status, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert sentence in answer.text
    assert ('<a href="/">' in answer.text) or status == 400
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "<img" not in answer.text


def test_an_arena_without_matches_says_so(visitor: Visitor) -> None:
    assert "No rated matches yet" in visitor.get("/leaderboard").text


def test_a_page_that_did_not_change_is_not_sent_again(visitor: Visitor) -> None:
    tag = visitor.get("/matches").headers["etag"]
    again = visitor.get("/matches", if_none_match=tag)
    assert (again.status, again.body) == (304, b"")
    finish(visitor.store, result("m1"))
    assert visitor.get("/matches", if_none_match=tag).status == 200
    assert visitor.get("/nowhere", if_none_match="*").status == 404


def test_what_a_stranger_wrote_stays_text(visitor: Visitor) -> None:
    evil = "<img src=x onerror=alert(1)>"
    finish(visitor.store, result("m1", (evil, "bob"), version=evil), result("m2", (evil, "bob"), version=evil))
    searches = ("/leaderboard?search=%3Cimg", "/leaderboard?search=%22%3E%3Cscript%3E")
    for address in ("/", f"/bots/{EVIL}", "/bots/bob", "/matches", "/leaderboard", *searches):
        page = visitor.get(address)
        assert page.status == 200
        assert "<img" not in page.text
        assert "<script>" not in page.text
