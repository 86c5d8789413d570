"""Writes to all connections at the end of a turn of the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

MAX_FLUSH_BATCH = 64
"""Calls of `end_soon` after which a flush comes at once: in a long turn, the first need not wait for the last."""

log = logging.getLogger("arena.network.flusher")


class Flushable(Protocol):
    """A connection with buffered output."""

    def flush(self, queued_at: float, now: float) -> None:
        """Write the output. The first of this turn was buffered at `queued`, in seconds of the event loop."""


class Flusher:
    """Flushes registered connections when the event loop's turn ends, or after `MOST` calls of `end_soon`.

    `before` is called first, and what it sends is flushed as well.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.before_flush: Callable[[], None] = lambda: None
        self._loop = loop
        self._waiting: list[Flushable] = []
        self._queued_at: float | None = None
        """The loop time of the first registration; None if there is none."""
        self._put_off_count = 0
        self._is_ending = self._is_scheduled = False
        self._turn_end_times = (loop.time(),) * 3

    @property
    def polled_at(self) -> float:
        """A time since which the loop has certainly polled all sockets. Some loops end a turn after the next poll."""
        return self._turn_end_times[0]

    def register(self, flushable: Flushable) -> None:
        """Register a connection to be flushed. Call it once until the connection is flushed."""
        self._waiting.append(flushable)
        if self._queued_at is None:
            self.schedule_flush()

    def schedule_flush(self) -> None:
        """Have `before_flush` called and everything flushed at the end of the turn."""
        self._put_off_count += 1
        if self._queued_at is None:
            self._queued_at = self._loop.time()
            if not self._is_scheduled:
                self._is_scheduled = True
                self._loop.call_soon(self._on_turn_end)
        elif self._put_off_count >= MAX_FLUSH_BATCH and not self._is_ending:
            self._flush_all()

    def _on_turn_end(self) -> None:
        self._is_scheduled = False
        self._turn_end_times = (*self._turn_end_times[1:], self._loop.time())
        self._flush_all()

    def _flush_all(self) -> None:
        queued = self._queued_at
        if queued is None:  # everything was written before the turn ended
            return
        self._is_ending = True
        try:
            self.before_flush()
        except Exception:
            log.exception("what comes before the writing failed")
        waiting, self._waiting = self._waiting, []
        self._queued_at, self._put_off_count, self._is_ending = None, 0, False
        now = self._loop.time()
        for one in waiting:
            try:
                one.flush(queued, now)
            except Exception:
                log.exception("a connection could not be written")
