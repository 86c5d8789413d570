"""Programs that are kept running: when they are started again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from arena.processes import process
from arena.processes.process import keep_running


class Enough(Exception):
    pass


@pytest.mark.parametrize(
    ("lasted", "waits"),
    [
        ([0, 0, 0, 0, 0], ["0.001", "0.002", "0.004", "0.005", "0.005"]),
        ([0, 0, 1, 0], ["0.001", "0.002", "0.001", "0.002"]),
    ],
)
async def test_the_waits_double_up_to_the_longest_until_the_program_ran_for_long(
    lasted: Sequence[float], waits: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now, runs = 0.0, iter(lasted)

    async def run() -> str:
        nonlocal now
        seconds = next(runs, None)
        if seconds is None:
            raise Enough
        now += seconds
        return "ended"

    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(process, "LONGEST_WAIT", 0.005)
    with pytest.raises(Enough):
        await keep_running(run, 0.001, logging.getLogger("arena.test"), "it")
    assert caplog.messages == [f"it ended; it is started again in {wait} s" for wait in waits]
