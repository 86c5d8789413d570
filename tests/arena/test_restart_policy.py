"""Programs that are kept running: when they are started again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from itertools import pairwise

import pytest

from arena.processes.process import MAX_RESTART_DELAY_S, keep_running
from virtual_time import advance, passing


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("lasted", "waits"),
    [
        ([0] * 8, [1, 2, 4, 8, 16, 32, 60, 60]),
        ([0, 0, MAX_RESTART_DELAY_S, 0], [1, 2, 1, 2]),
        ([0, 0, MAX_RESTART_DELAY_S - 0.01, 0], [1, 2, 4, 8]),
    ],
)
async def test_the_waits_double_up_to_the_longest_until_the_program_ran_for_long(
    lasted: Sequence[float], waits: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.get_running_loop()
    began, runs, starts = loop.time(), iter(lasted), []

    async def run() -> str | None:
        starts.append(loop.time() - began)
        seconds = next(runs, None)
        if seconds is None:
            return None
        await asyncio.sleep(seconds)
        return "ended"

    await passing(keep_running(run, 1.0, logging.getLogger("arena.test"), "it"))
    assert caplog.messages == [f"it ended; it is restarted in {wait} s" for wait in waits]
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert gaps == pytest.approx([ran + wait for ran, wait in zip(lasted, waits, strict=True)])


@pytest.mark.virtual_time
async def test_a_program_is_not_restarted_once_all_are_to_stop() -> None:
    stop, runs = asyncio.Event(), list[int]()

    async def run() -> str:
        runs.append(1)
        return "ended"

    keeping = asyncio.create_task(keep_running(run, 1.0, logging.getLogger("arena.test"), "it", stop))
    await advance(1.5)
    stop.set()
    await advance(0.1)
    assert (keeping.done(), len(runs)) == (True, 2)
