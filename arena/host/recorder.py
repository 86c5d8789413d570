"""Writes what matches record in one turn of the event loop, all together and before any of it is sent."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, Protocol

from arena.host.commit_log import CommitLog, Entry
from machine.histogram import Histogram
from machine.log_output import about

SYNC_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Histogram bounds for the duration of a sync."""

log = logging.getLogger("arena.host.recorder")


class Recorded(Protocol):
    """A match with lines to record."""

    @property
    def id(self) -> str:
        """The id of the match."""

    @property
    def lines(self) -> bytes:
        """The lines to write."""

    def record(self) -> int | None:
        """Write the lines and return their offset in the journal; None if they can't be written now, or need not."""

    def recorded(self, held: float = 0.0) -> None:
        """Continue after the lines were recorded, which held the match up for `held` seconds."""

    def unrecorded(self, at: int, exc: BaseException) -> None:
        """Handle a failure to commit the lines at offset `at`."""


class _Written(NamedTuple):
    match: Recorded
    entry: Entry
    since: float
    """The time of writing, in seconds of the event loop."""


class Recorder:
    """Records matches at the end of a turn of the event loop, when `end_soon` has `commit` called.

    With a log, everything written in a turn, and while the disk was busy, is committed together.
    """

    def __init__(self, end_soon: Callable[[], None], commit_log: CommitLog | None = None) -> None:
        self._end_soon = end_soon
        self._log = commit_log
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "commit") if commit_log is not None else None
        self._waiting: list[Recorded] = []
        self._written: list[_Written] = []
        self._is_syncing = self._is_closed = False
        self.syncs = Histogram(SYNC_SECONDS)
        """Seconds that each sync of the log took."""

    def soon(self, match: Recorded) -> None:
        """Queue a match to be recorded; `recorded` or `unrecorded` is called afterwards."""
        self._waiting.append(match)
        self._end_soon()

    def commit(self) -> None:
        """Record all queued matches, including those that this queues."""
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            for match in waiting:
                try:
                    at = match.record()
                    if at is None:
                        continue
                    if self._log is None:
                        match.recorded()
                    else:
                        self._written.append(_Written(match, Entry(match.id, at, match.lines), self._loop.time()))
                except Exception:
                    log.exception("match %s could not be recorded", match.id, extra=about(match=match.id))
        if self._written and not self._is_syncing:
            self._sync()

    def close(self) -> None:
        """Finish the current sync, and start no other."""
        self._is_closed = True
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)

    def _sync(self) -> None:
        assert self._thread is not None
        assert self._log is not None
        written, self._written = self._written, []
        if self._is_closed:
            return
        try:
            job = self._loop.run_in_executor(self._thread, self._log.commit, [one.entry for one in written])
        except RuntimeError as exc:  # the system has no more threads
            self._go_on(written, exc)
            return
        self._is_syncing = True
        job.add_done_callback(partial(self._synced, written, time.perf_counter()))

    def _synced(self, written: list[_Written], began: float, job: asyncio.Future[None]) -> None:
        self._is_syncing = False
        self.syncs.observe(time.perf_counter() - began)
        if not job.cancelled():
            self._go_on(written, job.exception())
        if self._written and not self._is_syncing:
            self._sync()

    def _go_on(self, written: list[_Written], exc: BaseException | None) -> None:
        """Report the outcome of a commit to its matches."""
        now = self._loop.time()
        for match, entry, since in written:
            try:
                if exc is not None:
                    match.unrecorded(entry.at, exc)
                else:
                    match.recorded(now - since)
            except Exception:
                log.exception("match %s could not go on", match.id, extra=about(match=match.id))
