"""A page's connection to an arena of several nodes, run by Node: what it does when some of them are away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SIMULATE = f"""async (load, home, steps) => {{
  const {{ simulate }} = await import({json.dumps(Path(__file__).with_name("socket.mjs").as_uri())});
  return simulate(await load("arena-socket.js"), home, steps);
}}"""
HOME, B = "ws://arena", "ws://arena/b"
Did = list[list[Any]]
Page = Callable[..., list[Did]]
WELCOME = ("says", HOME, {"type": "welcome", "resumed": []})
START = {"type": "start", "match": "m-1", "game": "nim", "seats": []}
WATCH = {"type": "watch", "match": "m-1"}
ELSEWHERE = ("says", HOME, {"type": "error", "code": "elsewhere", "ref": "m-1", "url": B})
AWAY = ("says", HOME, {"type": "welcome", "resumed": [], "elsewhere": [B]})
"""A person's match goes on at node b."""


@pytest.fixture
def page(scripts: Callable[..., Any]) -> Page:
    return lambda *steps: scripts(SIMULATE, HOME, steps)


def joined(url: str) -> list[tuple[Any, ...]]:
    return [("opens", url), ("says", url, {"type": "welcome", "resumed": []})]


def listing(*elsewhere: str) -> tuple[Any, ...]:
    return ("says", HOME, {"type": "listing", "bots": [], "matches": [], "elsewhere": elsewhere})


WATCHING = [("watch", "m-1"), ("start",), *joined(HOME), ELSEWHERE, *joined(B), ("says", B, START)]
"""A page watches a match of node b."""


def test_a_page_watches_a_match_where_it_is_played(page: Page) -> None:
    did = page(*WATCHING)
    assert ["connects", B] in did[4]
    assert ["sends", B, WATCH] in did[6]
    assert did[7] == [["tells", "start", START]]


def test_while_a_node_is_away_a_page_asks_whether_the_match_that_it_watched_there_goes_on(page: Page) -> None:
    did = page(*WATCHING, ("ends", B), ELSEWHERE, ("pass",), *joined(B))
    assert ["sends", HOME, WATCH] in did[8]
    assert ["sends", B, WATCH] in did[-1]
    over = ("says", HOME, {"type": "error", "code": "unavailable", "ref": "m-1"})
    assert page(*WATCHING, ("ends", B), over)[-1] == [["tells", "gone", {"match": "m-1"}]]


def test_what_was_watched_on_a_node_that_goes_is_looked_for_by_the_others(page: Page) -> None:
    gone = page(*WATCHING, listing(B), listing(), ("watch", "m-1"))
    assert ["sends", HOME, WATCH] in gone[-2]
    assert gone[-1] == [["sends", HOME, WATCH]]


def test_a_person_whose_match_is_on_a_node_that_stays_away_plays_others_in_a_while(page: Page) -> None:
    again = [("opens", HOME), AWAY, ("ends", B), ("pass",)]
    steps = [("start", {"bot": "eve"}), *4 * again, ("opens", HOME), AWAY]
    did = page(*steps)
    assert [["connects", B] in one for one in did].count(True) == 4
    assert ["tells", "state", {"name": "open"}] in did[-1]
    assert 2000 < sum(what[1] for one in did for what in one if what[0] == "waits") < 10000


def test_a_page_that_is_sent_to_and_fro_waits_in_between(page: Page) -> None:
    there = ("says", HOME, {"type": "error", "code": "elsewhere", "ref": "s1", "url": B})
    back = ("says", B, {"type": "error", "code": "elsewhere", "ref": "s1", "url": HOME})
    did = page(("start", {"bot": "eve"}), *joined(HOME), there, *joined(B), back, ("pass",))
    assert ["connects", B] in did[3]
    assert [what[0] for what in did[6]] == ["waits", "tells"]
    assert ["connects", HOME] in did[7]


def test_a_person_who_plays_is_not_called_away(page: Page) -> None:
    seated = ("says", HOME, {**START, "seat": 0})
    over = ("says", HOME, {"type": "end", "match": "m-1"})
    called = ("says", HOME, {"type": "error", "code": "elsewhere", "url": B})
    did = page(("start", {"bot": "eve"}), *joined(HOME), seated, called, over, called)
    assert did[4] == []
    assert ["connects", B] in did[6]


def test_a_page_sends_nothing_on_a_connection_that_the_arena_is_closing(page: Page) -> None:
    did = page(("start",), *joined(HOME), ("closes", HOME), ("watch", "m-1"), ("ends", HOME), ("pass",), *joined(HOME))
    assert did[4] == []
    assert ["sends", HOME, WATCH] in did[-1]
