"""What the wall says while no board is on it, by Node: who is here, and why nothing is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

IDLE_TEXT = 'async (load, listing) => (await load("pages/idle-text.js")).idleText(listing)'
FIFTEEN = [{"bot": f"bot{number}"} for number in range(15)]
HEX = {"match": "m", "game": "hex", "preset": "small"}
CASES: dict[str, tuple[Any, str, str]] = {
    "nobody": ({"bots": [], "matches": []}, "No match right now", "No bot and no person is online."),
    "one": (
        {"bots": [{"bot": "ann"}], "matches": []},
        "No match right now",
        "ann is online and waits for the next match.",
    ),
    "many": (
        {"bots": FIFTEEN, "matches": [], "more_bots": 5},
        "No match right now",
        "bot0, bot1, bot2, bot3, bot4, bot5, bot6, bot7 and 12 more are online and wait for the next match.",
    ),
    "all held by the pace": (
        {"bots": [{"bot": "ann", "pace_s": 600}, {"bot": "bob", "pace_s": 61}], "matches": []},
        "No match right now",
        "ann and bob are online. They have reached their hourly limit of matches: the next one starts in 61 seconds.",
    ),
    "some held by the pace": (
        {"bots": [{"bot": "ann", "pace_s": 600}, {"bot": "bob"}], "matches": []},
        "No match right now",
        "ann and bob are online and wait for the next match.",
    ),
    "a game without a board": (
        {"bots": FIFTEEN, "matches": [HEX, HEX]},
        "2 live matches without a board",
        "This page has no board for Hex, small.",
    ),
    "no answer": (None, "The arena does not answer", "Live matches cannot be shown."),
}


@pytest.mark.parametrize(("listing", "title", "told"), CASES.values(), ids=CASES)
def test_an_empty_wall_says_who_is_here_and_why_nothing_is_shown(
    scripts: Callable[..., Any], listing: Any, title: str, told: str
) -> None:
    assert scripts(IDLE_TEXT, listing) == {"title": title, "told": told}
