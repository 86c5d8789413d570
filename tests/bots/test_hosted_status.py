"""A program of the client alone says how the arena runs it: the check of its newest version, and its last log."""

from __future__ import annotations

from typing import Any

import pytest

from bots import Bot, Turn, run
from bots.agents.page import PageClient

LOG = {"match": "m-2", "version": 1, "written": "now", "faults": [], "text": "\n".join(f"line {n}" for n in range(30))}
FAILED = {"number": 2, "state": "failed", "report": "nim: failed: it did not answer\x1b"}
PASSED = {"number": 1, "state": "passed", "active": True, "report": "ok"}


class Mine(Bot):
    def choose(self, turn: Turn) -> Any:
        raise AssertionError("it does not play")


def say_status(monkeypatch: pytest.MonkeyPatch, versions: list[dict[str, Any]], logs: list[dict[str, Any]]) -> None:
    answers = {
        ("bots", "mine", "submissions"): {"versions": versions},
        ("bots", "mine", "logs"): {"logs": [{key: log[key] for key in log if key != "text"} for log in logs]},
        ("bots", "mine", "logs", "m-2"): LOG,
    }
    monkeypatch.setattr(PageClient, "fetch", lambda self, *path: answers[path])
    run(Mine("mine"), args=["--status", "--token", "t" * 20])


def test_the_newest_check_the_version_that_plays_and_the_end_of_the_last_log_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say_status(monkeypatch, [FAILED, PASSED], [LOG])
    told = capsys.readouterr().out.splitlines()
    assert told[:4] == [
        "mine: version 2 failed its check",
        "nim: failed: it did not answer\\x1b",
        "mine: version 1 plays",
        "mine: the end of its log of match m-2, where version 1 played:",
    ]
    assert told[4:] == [f"line {n}" for n in range(10, 30)]
    say_status(monkeypatch, [FAILED], [])
    assert capsys.readouterr().out.splitlines()[2:] == ["mine: no version plays"]


def test_a_program_that_takes_no_page_is_not_told_to_give_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(PageClient, "_get", lambda *_: (200, b"", {}))
    with pytest.raises(SystemExit):
        run(Mine("mine"), args=["--status", "--token", "t" * 20])
    assert "names no page: give the page's address, as in a browser, with arena-bot submit --page" in (
        capsys.readouterr().err
    )


def test_before_anything_was_handed_in_it_says_how_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        say_status(monkeypatch, [], [])
    assert "mine: nothing was handed in yet: python FILE.py --submit does it" in capsys.readouterr().err
