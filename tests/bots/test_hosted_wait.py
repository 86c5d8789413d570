"""`arena-bot hosted --play --wait` says what it waits for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from typer import Typer

from bots.agents.page import PageClient, PageError
from bots.commands import hosted
from machine.command_line import run_command


def test_a_match_that_does_not_end_soon_is_waited_for_with_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    result = {"seats": [{"bot": "mine", "rank": 1}, {"bot": "random", "rank": 2}], "plies": 7}

    def fetch(self: PageClient, *path: str) -> Any:
        if now[0] < 30:
            raise PageError("there is no match", 404)
        return result

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(PageClient, "fetch", fetch)
    monkeypatch.setattr(PageClient, "post", lambda self, *_, **__: {"match": "m-1"})
    monkeypatch.setattr(hosted, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    app = Typer()
    app.command()(hosted.hosted)
    words = ["mine", "--play", "random", "--wait", "--token", "t" * 20, "--page", "http://arena"]
    run_command(app, words)
    assert capsys.readouterr().out.splitlines()[1:] == [hosted.WAIT_NOTICE, "mine won after 7 plies"]
