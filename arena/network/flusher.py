"""Writes the output of all connections at the end of a turn of the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

MAX_FLUSH_BATCH = 64
"""Number of `schedule_flush` calls in one turn of the event loop after which all output is written at once. So in a
long turn, the first output does not wait for the last.
"""

log = logging.getLogger("arena.network.flusher")


class Flushable(Protocol):
    """A connection with buffered output."""

    def flush(self, queued_at: float, now: float) -> None:
        """Write the buffered output. `queued_at` is when any connection first buffered output in this turn, in the
        event loop's time.
        """


class Flusher:
    """Flushes registered connections at the end of a turn of the event loop, or after `MAX_FLUSH_BATCH` calls of
    `schedule_flush`.

    It first calls `before_flush`. Messages that this function sends are flushed too. It calls `before_write` before it
    writes to a connection.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        before_flush: Callable[[], None] = lambda: None,
        before_write: Callable[[], None] | None = None,
    ) -> None:
        self._before_flush = before_flush
        self._before_write = before_write
        self._loop = loop
        self._waiting: list[Flushable] = []
        self._queued_at: float | None = None
        """The event loop's time at which the next flush was first scheduled; None if none is scheduled."""
        self._put_off_count = 0
        self._is_ending = self._is_scheduled = False
        self.polled_at = self._last_turn_end = self._turn_end = loop.time()
        """`polled_at` is a time after which the event loop has certainly polled all sockets. It is the end of an
        earlier turn, not of the last one, because some event loops end a turn only after the next poll.
        """

    def register(self, flushable: Flushable) -> None:
        """Register a connection for the next flush. Call this only once for each flush of the connection."""
        self._waiting.append(flushable)
        if self._queued_at is None:
            self.schedule_flush()

    def schedule_flush(self) -> None:
        """Schedule a call of `before_flush` and a flush of all registered connections, for the end of this turn of the
        event loop. After `MAX_FLUSH_BATCH` calls in a turn, do both at once.
        """
        self._put_off_count += 1
        if self._queued_at is None:
            self._queued_at = self._loop.time()
            if not self._is_scheduled:
                self._is_scheduled = True
                self._loop.call_soon(self._on_turn_end)
        elif self._put_off_count >= MAX_FLUSH_BATCH and not self._is_ending:
            self._flush_all(self._queued_at)

    def _on_turn_end(self) -> None:
        self._is_scheduled = False
        self.polled_at, self._last_turn_end, self._turn_end = self._last_turn_end, self._turn_end, self._loop.time()
        if self._queued_at is not None:  # else everything was written before the turn ended
            self._flush_all(self._queued_at)

    def _flush_all(self, queued: float) -> None:
        self._is_ending = True
        try:
            self._before_flush()
        except Exception:
            log.exception("the work before writing to connections failed")
        waiting, self._waiting = self._waiting, []
        self._queued_at, self._put_off_count, self._is_ending = None, 0, False
        now = self._loop.time()
        for one in waiting:
            try:
                if self._before_write is not None:
                    self._before_write()
                one.flush(queued, now)
            except Exception:
                log.exception("writing to a connection failed")
