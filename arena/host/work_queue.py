"""A queue for work that may arrive in bursts, as when the clocks of a thousand matches expire at once."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

TIME_SLICE_S = 0.001
"""Seconds after which queued work is interrupted until the next turn of the event loop."""

log = logging.getLogger("arena.host")


class WorkQueue:
    """A queue of work that is done in order. It takes a limited time in each turn of the event loop, so that other work
    is not delayed.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Callable[[], None]] = deque()

    def enqueue(self, work: Callable[[], None]) -> None:
        """Queue a function, which must return soon."""
        self._waiting.append(work)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._run_slice)

    def _run_slice(self) -> None:
        ends = time.perf_counter() + TIME_SLICE_S
        while self._waiting:
            try:
                self._waiting[0]()
            except Exception:
                log.exception("a queued task failed")
            self._waiting.popleft()  # only now: work that is queued meanwhile must not schedule another turn
            if time.perf_counter() >= ends:
                break
        if self._waiting:
            self._loop.call_soon(self._run_slice)
