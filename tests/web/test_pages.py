"""Every page over a store: what it says, and what it says where something is wrong."""

from __future__ import annotations

from seasons import finish, result
from web_client import Visitor


def test_an_arena_without_matches_says_so(visitor: Visitor) -> None:
    assert "No rated matches yet" in visitor.get("/leaderboard").text
    assert "No matches yet" in visitor.get("/").text


def test_what_is_not_there_is_said_in_a_sentence(visitor: Visitor) -> None:
    for address in ("/leaderboard/chess", "/leaderboard/chess/classic"):
        answer = visitor.get(address)
        assert answer.status == 404
        assert "There is no game &#39;chess&#39;: one of nim" in answer.text
    assert "Nim has no preset &#39;odd&#39;: one of classic" in visitor.get("/leaderboard/nim/odd").text


def test_a_page_that_did_not_change_is_not_sent_again(visitor: Visitor) -> None:
    tag = visitor.get("/matches").headers["etag"]
    again = visitor.get("/matches", if_none_match=tag)
    assert (again.status, again.body) == (304, b"")
    finish(visitor.store, result("m1"))
    assert visitor.get("/matches", if_none_match=tag).status == 200
    assert visitor.get("/nowhere", if_none_match="*").status == 404


def test_every_page_says_what_a_browser_may_load(visitor: Visitor) -> None:
    for address in ("/", "/nowhere"):
        assert "default-src 'none'" in visitor.get(address).headers["content-security-policy"]
