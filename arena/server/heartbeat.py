"""Notices that the arena's own event loop was held up, so that nobody's clock pays for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

HEARTBEAT = 0.05
LATE = 0.05
"""A timer that fires later than this many seconds shows that the arena's own loop was held up."""


class Heartbeat:
    """Calls `late(seconds)` each time that the loop was held up, until `stop`."""

    def __init__(self, late: Callable[[float], None]) -> None:
        self._late = late
        self._loop = asyncio.get_running_loop()
        self._beat = self._next()

    def stop(self) -> None:
        """Look no more."""
        self._beat.cancel()

    def _next(self) -> asyncio.TimerHandle:
        return self._loop.call_later(HEARTBEAT, self._look, self._loop.time() + HEARTBEAT)

    def _look(self, expected: float) -> None:
        late = self._loop.time() - expected
        if late > LATE:
            self._late(late)
        self._beat = self._next()
