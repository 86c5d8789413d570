"""The rules of a brought game, fetched to a file by somebody who wants them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from bots.agents.page import PageClient
from commands import call
from example_games import EXAMPLES
from protocol.games import is_known_game

SOURCE = (EXAMPLES / "pig.py").read_text("utf-8")
TOLD = {"game": "pig", "version": "1", "digest": hashlib.sha256(SOURCE.encode()).hexdigest(), "source": SOURCE}
PAGE = "http://127.0.0.1:8080"


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The page's answer, which a test may change."""
    told = dict(TOLD)
    monkeypatch.setattr(PageClient, "fetch", lambda self, *path: told if path == ("games", "pig", "source") else None)
    return told


@pytest.mark.parametrize("url", [PAGE, "ws://127.0.0.1:8765"])
def test_the_rules_are_written_to_a_file_and_their_digest_is_shown(answer: dict[str, Any], url: str) -> None:
    done = call("arena-bot", "game", "get", url, "pig")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        f"pig.py: the rules of pig, version 1, SHA-256 {TOLD['digest']}",
        "It is a program of the arena's operator: read it before you use it, as in arena-bot run uct --game pig.py",
    ]
    assert Path("pig.py").read_text("utf-8") == SOURCE
    assert call("arena-bot", "game", "get", url, "pig", "--to", "other.py").code == 0
    assert Path("other.py").read_text("utf-8") == SOURCE


def test_the_rules_are_not_run(answer: dict[str, Any]) -> None:
    answer["source"] = "raise SystemExit('it was run')\n"
    answer["digest"] = hashlib.sha256(answer["source"].encode()).hexdigest()
    assert call("arena-bot", "game", "get", PAGE, "pig").code == 0
    assert not is_known_game("pig")


def test_a_file_with_another_content_is_not_overwritten(answer: dict[str, Any]) -> None:
    Path("pig.py").write_text(SOURCE)
    assert call("arena-bot", "game", "get", PAGE, "pig").code == 0
    Path("pig.py").write_text("mine = 1\n")
    done = call("arena-bot", "game", "get", PAGE, "pig")
    assert (done.code, done.out) == (2, "")
    assert done.err == "arena-bot: pig.py exists and has another content: choose another file with --to FILE\n"
    assert Path("pig.py").read_text("utf-8") == "mine = 1\n"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"digest": "0" * 64}, f"the source of pig at {PAGE} does not have the digest that is told with it"),
        ({"source": 3}, f"the answer of {PAGE} has no source of a game: Expected `str`, got `int` - at `$.source`"),
    ],
)
def test_an_answer_that_is_not_the_rules_is_refused(answer: dict[str, Any], changed: dict[str, Any], says: str) -> None:
    answer |= changed
    done = call("arena-bot", "game", "get", PAGE, "pig")
    assert (done.code, done.out, done.err) == (1, "", f"arena-bot: {says}\n")
    assert not Path("pig.py").exists()


def test_what_cannot_be_asked_or_written_is_a_line(answer: dict[str, Any]) -> None:
    wrong = call("arena-bot", "game", "get", "arena:8080", "pig")
    assert (wrong.code, wrong.err) == (
        2,
        "arena-bot: the page's address is 'arena:8080': write it like http://127.0.0.1:8080\n",
    )
    there = call("arena-bot", "game", "get", PAGE, "pig", "--to", "no/such/pig.py")
    assert (there.code, there.err) == (2, "arena-bot: no/such/pig.py: No such file or directory\n")
