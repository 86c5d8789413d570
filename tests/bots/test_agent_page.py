"""How an agent finds the arena's page, and what it makes of answers that are none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from bots.agents import page as pages
from bots.agents.page import PageClient, PageError, check_page
from bots.agents.replays import read_grades
from machine.bounded_fetch import HttpAnswer
from protocol.errors import UsageFault

ARENA, PAGE = "ws://arena.example", "http://arena.example"
Answering = Callable[..., None]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Have every request answered so."""

    def answer(status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        found = HttpAnswer(status, body, headers or {}, "")
        monkeypatch.setattr(pages, "fetch", lambda url, most, timeout_s, **options: found)

    return answer


def test_the_arena_says_where_its_page_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def arena_and_page(url: str, most: int, timeout_s: float, **options: Any) -> HttpAnswer:
        if url == PAGE:
            return HttpAnswer(426, b"this is an arena", {"Link": f'<{PAGE}:8080/>; rel="alternate"'}, "")
        return HttpAnswer(200, json.dumps(url).encode(), {}, "")

    monkeypatch.setattr(pages, "fetch", arena_and_page)
    found = PageClient(ARENA).fetch("matches", "../m", limit=3, bot=None)
    assert found == f"{PAGE}:8080/api/v1/matches/..%2Fm?limit=3"


def test_a_page_on_another_host_is_not_gone_to_because_an_arena_names_it(answering: Answering) -> None:
    answering(426, b"", {"Link": '<http://169.254.169.254/>; rel="alternate"'})
    with pytest.raises(PageError, match=r"names no page: give the page's address, as in a browser, with --page"):
        PageClient(ARENA).fetch("matches")


def test_what_is_no_page_of_an_arena_is_told_in_one_line(answering: Answering) -> None:
    answering(200, b"<html>")
    with pytest.raises(PageError, match=r"/api/v1/matches is no page of an arena: it answers HTTP 200 without JSON$"):
        PageClient(ARENA, PAGE).fetch("matches")


def test_what_the_page_says_of_an_error_is_told_in_its_words(answering: Answering) -> None:
    answering(404, b'{"error": {"message": "no match \\u001b[2J here"}}')
    with pytest.raises(PageError, match=r"^no match \\x1b\[2J here$"):
        PageClient(ARENA, PAGE).fetch("matches")


def told_grades(answering: Answering, seats: list[dict[str, Any]], moves: list[Any], **fields: str) -> list[str]:
    answering(200, json.dumps({"moves": moves, "seats": seats, **fields}).encode())
    return read_grades(PageClient(ARENA, PAGE), "m-1").format_text().splitlines()


def test_the_grades_of_a_seat_that_made_no_move_have_no_mean(answering: Answering) -> None:
    seats = [{"seat": 0, "bot": "ann", "moves": 1, "mean": 0.5}, {"seat": 1, "bot": "bob", "moves": 0, "mean": None}]
    told = told_grades(answering, seats, [])
    assert told[:2] == ["ann: 1 move gave away 0.500 on average", "bob: made no move"]
    assert told[2] == "losses are in expected results, from -1 to +1: 2.000 turns a win into a defeat"


def test_what_moves_of_poker_gave_away_is_told_an_agent_in_chips(answering: Answering) -> None:
    move = {"ply": 2, "bot": "ann", "notation": "fold", "best_notation": "call", "gave_away": 3.0}
    seats = [{"seat": 0, "bot": "ann", "moves": 1, "mean": 3.0}]
    assert told_grades(answering, seats, [move], unit="chips") == [
        "ann: 1 move gave away 3.000 chips on average",
        "2. ann: fold gave away 3.000 chips; best was call",
    ]


def test_a_page_is_given_as_a_browser_has_it() -> None:
    assert check_page("https://arena.example/") == "https://arena.example"
    for wrong in ("file:///etc/passwd", "arena.example", "ws://arena.example", "http://", "http://[", "http://a:99999"):
        with pytest.raises(UsageFault, match=r"write it like http://127\.0\.0\.1:8080$"):
            check_page(wrong)
