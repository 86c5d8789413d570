"""The end of a bot's process with a thread that still works."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bots.client.run import Client
from bots.client.worker_threads import Conclude, Work
from bots.commands import pipe
from bots.commands.piped_bot import PipedBot


@pytest.mark.parametrize(("unfinished", "told"), [([Conclude("m-1", None)], ["closes", "ends with 0"]), ([], [])])
def test_a_process_that_ends_while_the_end_of_a_match_is_dealt_with_first_writes_what_is_left(
    monkeypatch: pytest.MonkeyPatch, unfinished: list[Work], told: list[str]
) -> None:
    said: list[str] = []
    monkeypatch.setattr("os._exit", lambda code: said.append(f"ends with {code}"))
    client = SimpleNamespace(_worker_threads=SimpleNamespace(unfinished_work=unfinished))
    Client.exit(cast("Any", client), 0, lambda: said.append("closes"))
    assert said == told


def test_a_piped_bot_writes_its_logs_then(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []

    def play(bot: PipedBot, *settings: object, on_exit: object) -> None:
        told.append(on_exit == bot.close)

    monkeypatch.setattr(pipe, "play", play)
    pipe.pipe(["--game", "nim", "--", "true"], "arena-bot pipe")
    assert told == [True]
