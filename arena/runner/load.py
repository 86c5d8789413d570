"""Tells the arena how busy the machine of a runner is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

from arena.operator.client import OperatorConnection
from arena.operator.hosting import ReportLoad
from protocol.errors import Fault

LOAD_INTERVAL_S = 15.0
"""Seconds between two reports of the load."""


async def report_load(connection: OperatorConnection, wait_for_number: Callable[[], Awaitable[int]]) -> None:
    """Report the load of a runner's machine again and again, as long as the arena takes it. `wait_for_number` returns
    the number of the runner.
    """
    runner = await wait_for_number()
    while True:
        try:
            await connection.ask(ReportLoad(runner=runner, load=machine_load()), object)
        except Fault:  # the connection is lost, or the arena is of an older version
            return
        await asyncio.sleep(LOAD_INTERVAL_S)


def machine_load() -> float:
    """Return the number of processes that use a processor or wait for one, a processor, over the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)
