"""A finished match as its host hands it over to be stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from arena.host.journal import MatchJournal
from referee.footer import ClosedMatch
from referee.record import Footer
from referee.result import Result


class FinishedMatch(NamedTuple):
    """A finished match whose record is still in its journal. `failures` has the reasons why bots' programs failed, by
    seat, as their clients reported.
    """

    result: Result
    footer: Footer
    failures: Mapping[int, str]
    journal: MatchJournal

    def close(self) -> ClosedMatch:
        """Return the match with its complete record, read from the journal, which stays open. This may run in any
        thread. Raise `JournalFault` if the journal can't be read.
        """
        return ClosedMatch(self.result, tuple(self.journal.read_record_lines()), self.footer, self.failures)
