"""How an agent finds the arena's page, and what it makes of answers that are none."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from bots.agents.page import PageClient, PageError, check_page
from bots.agents.replays import read_grades
from protocol.errors import UsageFault

Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture
def answering() -> Iterator[Callable[[Callable[[str, str], Answer]], str]]:
    """Start a server on this machine that answers host and path like this; its `host:port`."""
    servers: list[HTTPServer] = []

    def start(answer: Callable[[str, str], Answer]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, headers, body = answer(self.headers["Host"], self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        server = HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_the_arena_says_where_its_page_is(answering: Any) -> None:
    def arena_and_page(host: str, path: str) -> Answer:
        if path == "/":
            return 426, {"Link": f'<http://{host}/>; rel="alternate"'}, b"this is an arena"
        return 200, {}, b'"' + path.encode() + b'"'

    page = PageClient(f"ws://{answering(arena_and_page)}")
    assert page.fetch("matches", "../m", limit=3, bot=None) == "/api/v1/matches/..%2Fm?limit=3"


def test_a_page_on_another_host_is_not_gone_to_because_an_arena_names_it(answering: Any) -> None:
    arena = answering(lambda host, path: (426, {"Link": '<http://169.254.169.254/>; rel="alternate"'}, b""))
    with pytest.raises(PageError, match=r"names no page: give the page's address, as in a browser, with --page"):
        PageClient(f"ws://{arena}").fetch("matches")


def test_without_an_arena_its_address_is_told_and_not_that_of_a_page_is_asked_for() -> None:
    with pytest.raises(PageError, match=r"^no arena answers at ws://127\.0\.0\.1:1: Connection refused; is it running"):
        PageClient("ws://127.0.0.1:1").fetch("matches")
    with pytest.raises(
        PageError, match=r"^no page answers at http://127\.0\.0\.1:1: .*; give the page's address as X$"
    ):
        PageClient("ws://arena", "http://127.0.0.1:1", "as X").fetch("matches")


def test_what_is_no_page_of_an_arena_is_told_in_one_line(answering: Any) -> None:
    other = f"http://{answering(lambda host, path: (200, {}, b'<html>'))}"
    with pytest.raises(PageError, match=r"/api/v1/matches is no page of an arena: it answers HTTP 200 without JSON$"):
        PageClient("ws://127.0.0.1:1", other).fetch("matches")


def test_an_address_at_which_bots_connect_is_told_with_that_of_the_page(answering: Any) -> None:
    link = {"Link": '<http://127.0.0.1:8/>; rel="alternate"'}
    port = f"http://{answering(lambda host, path: (426, link, b'for programs'))}"
    with pytest.raises(PageError, match=r"answers HTTP 426 without JSON; the page is at http://127\.0\.0\.1:8$"):
        PageClient("ws://127.0.0.1:1", port).fetch("matches")


def test_what_the_page_says_of_an_error_is_told_in_its_words(answering: Any) -> None:
    body = b'{"error": {"message": "no match \\u001b[2J here"}}'
    page = f"http://{answering(lambda host, path: (404, {}, body))}"
    with pytest.raises(PageError, match=r"^no match \\x1b\[2J here$"):
        PageClient("ws://127.0.0.1:1", page).fetch("matches")


def test_the_grades_of_a_seat_that_made_no_move_have_no_mean(answering: Any) -> None:
    seats = [{"seat": 0, "bot": "ann", "moves": 1, "mean": 0.5}, {"seat": 1, "bot": "bob", "moves": 0, "mean": None}]
    body = json.dumps({"moves": [], "seats": seats}).encode()
    page = PageClient("ws://127.0.0.1:1", f"http://{answering(lambda host, path: (200, {}, body))}")
    told = read_grades(page, "m-1").format_text().splitlines()
    assert told[:2] == ["ann: 1 move gave away 0.500 on average", "bob: made no move"]
    assert told[2] == "losses are in expected results, from -1 to +1: 2.000 turns a win into a defeat"


def test_a_page_is_given_as_a_browser_has_it() -> None:
    assert check_page("https://arena.example/") == "https://arena.example"
    for wrong in ("file:///etc/passwd", "arena.example", "ws://arena.example", "http://", "http://[", "http://a:99999"):
        with pytest.raises(UsageFault, match=r"write it like http://127\.0\.0\.1:8080$"):
            check_page(wrong)


def test_what_moves_of_poker_gave_away_is_told_an_agent_in_chips(answering: Any) -> None:
    move = {"ply": 2, "bot": "ann", "notation": "fold", "best_notation": "call", "gave_away": 3.0}
    seats = [{"seat": 0, "bot": "ann", "moves": 1, "mean": 3.0}]
    body = json.dumps({"moves": [move], "seats": seats, "unit": "chips"}).encode()
    page = PageClient("ws://127.0.0.1:1", f"http://{answering(lambda host, path: (200, {}, body))}")
    assert read_grades(page, "m-1").format_text().splitlines() == [
        "ann: 1 move gave away 3.000 chips on average",
        "2. ann: fold gave away 3.000 chips; best was call",
    ]
