"""Writes the lines that matches record in one turn of the event loop, all together, before any message is sent."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, Protocol

from arena.host.commit_log import CommitLog, JournalEntry
from machine.histogram import Histogram
from machine.log_output import log_fields

SYNC_BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Histogram bounds in seconds for the duration of a sync."""

log = logging.getLogger("arena.host.recorder")


class Recordable(Protocol):
    """A match whose lines a `Recorder` writes to the match's journal."""

    @property
    def id(self) -> str:
        """The id of the match."""

    @property
    def lines(self) -> bytes:
        """The lines to write to the match's journal."""

    def write_lines(self) -> int | None:
        """Write the lines, and return their offset in the journal. Return None if they can't be written now, or no
        longer need to be.
        """

    def on_recorded(self, waited_s: float = 0.0) -> None:
        """Continue the match after its lines were recorded. It has waited `waited_s` seconds for that."""

    def on_record_failed(self, offset: int, exc: BaseException) -> None:
        """Handle a failure to commit the lines at `offset`."""


class _Written(NamedTuple):
    match: Recordable
    entry: JournalEntry
    since: float
    """The time at which the lines were written, in seconds of the event loop."""


class Recorder:
    """Records matches at the end of a turn of the event loop. `schedule_commit` makes sure that `commit` is called
    then.

    With a commit log, all lines that were written in a turn, or while the disk was busy, are committed together.
    """

    def __init__(self, schedule_commit: Callable[[], None], commit_log: CommitLog | None = None) -> None:
        self._end_soon = schedule_commit
        self._log = commit_log
        self._loop = asyncio.get_running_loop()
        self._executor = ThreadPoolExecutor(1, "commit") if commit_log is not None else None
        self._waiting: list[Recordable] = []
        self._written: list[_Written] = []
        self._is_syncing = self._is_closed = False
        self.sync_times = Histogram(SYNC_BOUNDS_S)
        """The histogram of the seconds that a sync of the commit log takes."""

    def enqueue(self, match: Recordable) -> None:
        """Queue a match to be recorded. Afterwards, its `on_recorded` or `on_record_failed` is called."""
        self._waiting.append(match)
        self._end_soon()

    def commit(self) -> None:
        """Record all queued matches, including matches that are queued meanwhile."""
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            for match in waiting:
                try:
                    at = match.write_lines()
                    if at is None:
                        continue
                    if self._log is None:
                        match.on_recorded()
                    else:
                        self._written.append(
                            _Written(match, JournalEntry(match.id, at, match.lines), self._loop.time())
                        )
                except Exception:
                    log.exception("match %s could not be recorded", match.id, extra=log_fields(match=match.id))
        if self._written and not self._is_syncing:
            self._start_sync()

    def close(self) -> None:
        """Wait for the current sync, and start no further one."""
        self._is_closed = True
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def _start_sync(self) -> None:
        assert self._executor is not None
        assert self._log is not None
        written, self._written = self._written, []
        if self._is_closed:
            return
        try:
            job = self._loop.run_in_executor(self._executor, self._log.commit, [one.entry for one in written])
        except RuntimeError as exc:  # the system has no more threads
            self._report_outcome(written, exc)
            return
        self._is_syncing = True
        job.add_done_callback(partial(self._on_synced, written, time.perf_counter()))

    def _on_synced(self, written: list[_Written], began: float, job: asyncio.Future[None]) -> None:
        self._is_syncing = False
        self.sync_times.observe(time.perf_counter() - began)
        if not job.cancelled():
            self._report_outcome(written, job.exception())
        if self._written and not self._is_syncing:
            self._start_sync()

    def _report_outcome(self, written: list[_Written], exc: BaseException | None) -> None:
        now = self._loop.time()
        for match, entry, since in written:
            try:
                if exc is not None:
                    match.on_record_failed(entry.offset, exc)
                else:
                    match.on_recorded(now - since)
            except Exception:
                log.exception("match %s could not continue after recording", match.id, extra=log_fields(match=match.id))
