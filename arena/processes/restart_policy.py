"""A program that is kept running: started again whenever it has ended, after growing waits."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from machine.backoff import Backoff

LONGEST_WAIT = 60.0
"""Seconds until a program is started again: twice as many each time, until it has run as long as this."""


async def keep_running(run: Callable[[], Awaitable[str]], first_wait: float, log: logging.Logger, what: str) -> None:
    """Run a program again and again until this is cancelled; `run` does it once, and says in words how it ended."""
    backoff = Backoff(first_wait, LONGEST_WAIT)
    while True:
        began = time.monotonic()
        how = await run()
        if time.monotonic() - began >= LONGEST_WAIT:
            backoff.reset()
        wait = backoff.delay()
        log.warning("%s %s; it is started again in %g s", what, how, wait)
        await asyncio.sleep(wait)
