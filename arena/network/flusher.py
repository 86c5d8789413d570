"""Writes to all connections at the end of a turn of the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

MOST = 64
"""Calls of `end_soon` after which a flush comes at once: in a long turn, the first need not wait for the last."""

log = logging.getLogger("arena.network.flusher")


class Flushable(Protocol):
    """A connection with buffered output."""

    def flush(self, queued: float, now: float) -> None:
        """Write the output. The first of this turn was buffered at `queued`, in seconds of the event loop."""


class Flusher:
    """Flushes registered connections when the event loop's turn ends, or after `MOST` calls of `end_soon`.

    `before` is called first, and what it sends is flushed as well.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.before: Callable[[], None] = lambda: None
        self._loop = loop
        self._waiting: list[Flushable] = []
        self._queued: float | None = None
        """The loop time of the first registration; None if there is none."""
        self._put_off = 0
        self._is_ending = self._is_due = False
        self._ends = (loop.time(),) * 3

    @property
    def polled(self) -> float:
        """A time since which the loop has certainly polled all sockets. Some loops end a turn after the next poll."""
        return self._ends[0]

    def soon(self, one: Flushable) -> None:
        """Register a connection to be flushed. Call it once until the connection is flushed."""
        self._waiting.append(one)
        if self._queued is None:
            self.end_soon()

    def end_soon(self) -> None:
        """Have `before` called and everything flushed at the end of the turn."""
        self._put_off += 1
        if self._queued is None:
            self._queued = self._loop.time()
            if not self._is_due:
                self._is_due = True
                self._loop.call_soon(self._turn_ends)
        elif self._put_off >= MOST and not self._is_ending:
            self._end()

    def _turn_ends(self) -> None:
        self._is_due = False
        self._ends = (*self._ends[1:], self._loop.time())
        self._end()

    def _end(self) -> None:
        queued = self._queued
        if queued is None:  # everything was written before the turn ended
            return
        self._is_ending = True
        try:
            self.before()
        except Exception:
            log.exception("what comes before the writing failed")
        waiting, self._waiting = self._waiting, []
        self._queued, self._put_off, self._is_ending = None, 0, False
        now = self._loop.time()
        for one in waiting:
            try:
                one.flush(queued, now)
            except Exception:
                log.exception("a connection could not be written")
