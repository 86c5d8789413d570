"""Stops a node's process that was suspended for longer than its lease on the node's name, before it sends anything."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from arena.store.node_store import NODE_LEASE_S

MAX_STALL_S = NODE_LEASE_S - 2.0
"""Maximum seconds between two checks. After a longer stall, the process may have lost the lease on its node's name.
This maximum is 2 s shorter than the lease, because the lease may have begun up to 1 s before a check.
"""
CHECK_INTERVAL_S = 0.5
"""Seconds between two periodic checks for a suspension of the process."""
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""The clock that measures stalls. It continues while the machine sleeps."""


class StallGuard:
    """Detects, while `run` runs, that the process was suspended. `check` is called before anything is sent, and
    periodically by `run`.

    If more than `MAX_STALL_S` have passed since the last check, `on_stall` is called with the seconds since then. It
    must not return.
    """

    def __init__(self, on_stall: Callable[[float], None]) -> None:
        self._stalled = on_stall
        self._last_check: float | None = None
        """The time of the last check; None while `run` does not run."""

    def check(self) -> None:
        """Call `on_stall` if the process was suspended for longer than `MAX_STALL_S`."""
        if self._last_check is None:
            return
        now = time.clock_gettime(_BOOT_CLOCK)
        if now - self._last_check > MAX_STALL_S:
            self._stalled(now - self._last_check)
        self._last_check = now

    async def run(self) -> None:
        """Call `check` periodically, without end."""
        self._last_check = time.clock_gettime(_BOOT_CLOCK)
        try:
            while True:
                await asyncio.sleep(CHECK_INTERVAL_S)
                self.check()
        finally:
            self._last_check = None
