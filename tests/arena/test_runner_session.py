"""What a runner does with the bots that it is told to run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest

from arena.operator.hosting import EndBot, RunBot
from arena.runner import runner
from arena.runner.box import Boxes
from arena.runner.runner import RunnerSession
from timeouts import WITHIN


async def test_a_bot_that_is_given_the_place_of_one_that_still_ends_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = asyncio.Queue[str]()
    has_ended = asyncio.Event()

    async def run_until_told(run: RunBot, *_: object) -> str:
        running.put_nowait(run.bot)
        try:
            await asyncio.Event().wait()
        finally:
            await has_ended.wait()
        return ""

    monkeypatch.setattr(runner, "run_hosted_bot", run_until_told)
    session = RunnerSession(Mock(ask=AsyncMock()), 1, Boxes(memory_mib=64), tmp_path, "ws://127.0.0.1:8765")
    monkeypatch.setattr(session._versions, "get", AsyncMock(return_value=Mock(manifest=Mock(keep=()))))
    session.receive(RunBot(bot="ann", number=1, digest="1" * 64, ticket="t"))
    assert await asyncio.wait_for(running.get(), WITHIN) == "ann"
    session.receive(EndBot(bot="ann"))
    session.receive(RunBot(bot="bob", number=1, digest="2" * 64, ticket="u"))
    await asyncio.sleep(0)
    assert running.empty()
    has_ended.set()
    assert await asyncio.wait_for(running.get(), WITHIN) == "bob"
    await session.close()
