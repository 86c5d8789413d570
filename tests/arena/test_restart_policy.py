"""Programs that are kept running: when they are started again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from itertools import pairwise

import pytest

from arena.processes.process import MAX_RESTART_DELAY_S, keep_running
from virtual_time import passing


class Enough(Exception):
    pass


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

    async def run() -> str:
        starts.append(loop.time() - began)
        seconds = next(runs, None)
        if seconds is None:
            raise Enough
        await asyncio.sleep(seconds)
        return "ended"

    with pytest.raises(Enough):
        await passing(keep_running(run, 1.0, logging.getLogger("arena.test"), "it"))
    assert caplog.messages == [f"it ended; it is restarted in {wait} s" for wait in waits]
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert gaps == pytest.approx([ran + wait for ran, wait in zip(lasted, waits, strict=True)])
