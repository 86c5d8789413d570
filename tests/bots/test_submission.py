"""How a program is handed in to an arena that is busy with others."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from bots import submission
from bots.agents import page
from bots.agents.page import PageError
from bots.submission import BUSY_TIMEOUT_S, STARTING_RUNNERS_MESSAGE, BotSubmissions, Version
from machine.bounded_fetch import HttpAnswer

BUSY = HttpAnswer(503, b'{"error": {"message": "too many programs"}}', {"retry-after": "5"}, "")
CLOSED = HttpAnswer(503, b'{"error": {"message": "the arena stops"}}', {}, "")
STORED = HttpAnswer(202, b'{"number": 3, "state": "waiting"}', {}, "")


class Arena:
    """An arena that answers uploads in this order, the last answer for ever, on a clock that only waiting moves on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: HttpAnswer) -> None:
        self.now = 0.0
        self._answers = list(answers)
        monkeypatch.setattr(page, "fetch", self._fetch)
        monkeypatch.setattr(submission, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self._wait))

    def hand_in(self) -> int:
        submissions = BotSubmissions("ws://arena", "mine", "t" * 32, "http://arena")
        return submissions.hand_in("mine.py", b"import bots", ["nim"]).number

    def _wait(self, seconds: float) -> None:
        self.now += seconds

    def _fetch(self, *_: Any, body: bytes | None = None, **__: Mapping[str, str]) -> HttpAnswer:
        if body is None:
            return HttpAnswer(200, b"{}", {}, "")
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def test_a_program_waits_for_an_arena_that_is_busy_with_others_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arena = Arena(monkeypatch, BUSY, BUSY, STORED)
    assert arena.hand_in() == 3
    assert 5 <= arena.now <= 10
    assert capsys.readouterr().out == "mine: the arena is receiving other programs; yours follows\n"


def test_a_program_is_not_handed_in_to_a_busy_arena_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    arena = Arena(monkeypatch, BUSY)
    with pytest.raises(PageError, match=r"^too many programs$"):
        arena.hand_in()
    assert arena.now <= BUSY_TIMEOUT_S


def test_an_answer_that_names_no_time_to_try_again_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    arena = Arena(monkeypatch, CLOSED, STORED)
    with pytest.raises(PageError, match=r"^the arena stops$"):
        arena.hand_in()
    assert arena.now == 0


@pytest.mark.parametrize(
    ("told", "delay"),
    [
        ({"runners": 0}, "; no runner is connected, so nothing is checked: ask the operator of the arena"),
        ({"runners": 0, "starting": True}, f"; {STARTING_RUNNERS_MESSAGE}"),
        ({"runners": 1, "ahead": 2}, "; 2 checks are before it"),
        ({"runners": 1, "ahead": 0}, ""),
    ],
)
def test_a_version_says_why_its_check_has_not_begun(told: dict[str, Any], delay: str) -> None:
    assert Version(number=1, state="waiting", **told).delay == delay
    assert Version(number=1, state="checking", **told).delay == ""
