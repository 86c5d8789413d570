"""What the matches of a turn of the event loop want recorded: written together, before any of it is told."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from arena.host.journal import MatchJournal

log = logging.getLogger("arena.host.recorder")


class Recorded(Protocol):
    """A match that waits to be recorded."""

    def record(self) -> MatchJournal | None:
        """Write what waits: where it was written. None: it can't be now, or need not."""

    def recorded(self) -> None:
        """It is recorded now."""


class Recorder:
    """Records matches at the end of a turn of the loop: `end_soon` has `commit` called then."""

    def __init__(self, end_soon: Callable[[], None]) -> None:
        self._end_soon = end_soon
        self._waiting: list[Recorded] = []

    def soon(self, match: Recorded) -> None:
        """Have a match recorded, and told that it was."""
        self._waiting.append(match)
        self._end_soon()

    def commit(self) -> None:
        """Record all that wait."""
        waiting, self._waiting = self._waiting, []
        for match in waiting:
            try:
                if match.record() is not None:
                    match.recorded()
            except Exception:
                log.exception("a match could not be recorded")
