"""Every page over a store: what it says, and what it says where something is wrong."""

from __future__ import annotations

from visitor import Visitor


def test_an_arena_without_matches_says_so(visitor: Visitor) -> None:
    assert "No rated matches yet" in visitor.get("/").text


def test_what_is_not_there_is_said_in_a_sentence(visitor: Visitor) -> None:
    answer = visitor.get("/leaderboard/chess")
    assert answer.status == 404
    assert "There is no game chess" in answer.text


def test_every_page_says_what_a_browser_may_load(visitor: Visitor) -> None:
    for address in ("/", "/nowhere"):
        assert "default-src 'none'" in visitor.get(address).headers["content-security-policy"]
