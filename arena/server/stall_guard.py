"""A process that was stopped for longer than its node's name is kept for must not say a word when it goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from arena.store.node_store import LEASE

MOST = LEASE - 2.0
"""Seconds without a turn of the event loop: less than the lease, whose last second began before the last turn."""
EVERY = 0.5
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""One that goes on while the machine sleeps."""


class StallGuard:
    """Has to `look` before anything is sent, and in between by itself, as long as `run` goes on: when it last did so is
    `MOST` seconds ago or less, or `stalled` is called with the seconds, which must not return.
    """

    def __init__(self, stalled: Callable[[float], None]) -> None:
        self._stalled = stalled
        self._looked = time.clock_gettime(_CLOCK)

    def look(self) -> None:
        """Make sure that the process went on all the time."""
        now = time.clock_gettime(_CLOCK)
        if now - self._looked > MOST:
            self._stalled(now - self._looked)
        self._looked = now

    async def run(self) -> None:
        """Look now and then."""
        while True:
            self.look()
            await asyncio.sleep(EVERY)
