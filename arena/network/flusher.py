"""The end of a turn of the event loop: what the turn sent is written then, on all connections at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

MOST = 64
"""So much is put off at once: a turn that is long lets nobody wait for all of it."""

log = logging.getLogger("arena.network.flusher")


class Flushable(Protocol):
    """What holds back what it is to write."""

    def flush(self, queued: float, now: float) -> None:
        """Write it: the first of the turn was sent at `queued`, in seconds of the event loop."""


class Flusher:
    """Flushes whoever asks for it `soon`, once, when the turn of the loop has ended: an answer leaves with all others;
    with `MOST` others where there are more.

    `before` is called first: what it sends leaves as well, and what it needs to be told may wait for that.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.before: Callable[[], None] = lambda: None
        self._loop = loop
        self._waiting: list[Flushable] = []
        self._queued: float | None = None
        """When the first of what is put off was, in seconds of the loop."""
        self._put_off = 0
        self._is_ending = self._is_due = False
        self._ends = (loop.time(),) * 3

    @property
    def polled(self) -> float:
        """A time since when the loop has surely looked at every socket. Some loops end a turn behind the next look."""
        return self._ends[0]

    def soon(self, one: Flushable) -> None:
        """Have `one` flushed. It asks once until it was."""
        self._waiting.append(one)
        if self._queued is None:
            self.end_soon()

    def end_soon(self) -> None:
        """Have `before` called, and everyone flushed."""
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
        if queued is None:  # all of it was written before the turn ended
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
