"""A match that is over and not yet kept and told."""

from __future__ import annotations

import logging
from collections.abc import Callable

from arena.host.journal import Journal, JournalFault
from arena.host.runner import Runner
from machine.timestamps import utc
from protocol.error_codes import UNAVAILABLE
from protocol.messages import Error
from referee.footer import Closed
from referee.result import Ratings

log = logging.getLogger("arena.host")


class FinishedMatch:
    """What `HostHandler.finalize` has to keep, to `tell` once, and to `forget` when it is kept."""

    def __init__(self, runner: Runner, journal: Journal, tell: Callable[[Runner, Ratings | None], None]) -> None:
        self.result = runner.result(utc())
        self._runner = runner
        self._journal = journal
        self._tell = tell

    def tell(self, ratings: Ratings | None) -> None:
        """Tell everyone the end, with ratings or without; once."""
        self._tell(self._runner, ratings)

    def closed(self) -> Closed:
        """The match with its record. Raises `JournalFault`."""
        return self._runner.closed(self.result)

    def record(self, ratings: Ratings | None) -> bytes:
        """Its record, with ratings or without. Raises `JournalFault`."""
        return self.closed().record(ratings)

    def announce_wait(self) -> None:
        """Tell the seats why they hear nothing."""
        text = "the arena can't store the result of this match now: its end is told when it can"
        self._runner.announce(Error(code=UNAVAILABLE, message=text, ref=self.result.match))

    def forget(self) -> None:
        """Remove the journal of a match that is kept; one that stays is removed at the next start."""
        try:
            self._journal.forget(self.result.match)
        except JournalFault as fault:
            log.error("match %s is stored, but %s", self.result.match, fault)
