"""Work that may come all at once, like the clocks of a thousand matches that run out in the same moment."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

PIECE = 0.001
"""Seconds of such work in one turn of the event loop."""

log = logging.getLogger("arena.host")


class WorkQueue:
    """Does what is asked for in order and soon; of much a piece in each turn of the loop, so that nobody waits for all
    of it.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Callable[[], None]] = deque()

    def soon(self, work: Callable[[], None]) -> None:
        """Have `work`, which is short, done."""
        self._waiting.append(work)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        ends = time.perf_counter() + PIECE
        while self._waiting:
            try:
                self._waiting[0]()
            except Exception:
                log.exception("what was due could not be done")
            self._waiting.popleft()  # only now: what is asked for meanwhile must not have another turn scheduled
            if time.perf_counter() >= ends:
                break
        if self._waiting:
            self._loop.call_soon(self._turn)
