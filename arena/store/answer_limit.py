"""Limits on how long the arena waits for answers of a database server, because a server that hangs reports no error."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from machine.timeouts import scale_timeouts


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseTimeouts:
    """The time limits of sessions with a database, in seconds. The defaults are for commands, where a person waits."""

    connect_timeout_s: float = 5.0
    """The time after which a server that has accepted no connection counts as unavailable."""
    statement_timeout_s: float = 3600.0
    """The maximum duration of a statement, after which the database ends it."""
    lock_timeout_s: float = 10.0
    """The maximum wait of a statement for a lock. Half of `statement_timeout_s` applies if that is shorter."""
    answer_timeout_s: float = 5.0
    """The time beyond `statement_timeout_s` for which a session may be silent before it is closed."""
    stop_answer_timeout_s: float = 2.5
    """The time for which a session may be silent before it is closed, while the process is ending."""
    stop_timeout_s: float = 7.5
    """The maximum time for which a process that is about to end waits for statements."""


SERVER_STATEMENT_TIMEOUT_S = 20
"""The maximum seconds of a database statement of an arena's server. Bots wait for it; most take much less."""


def server_timeouts(statement_timeout_s: float = SERVER_STATEMENT_TIMEOUT_S) -> DatabaseTimeouts:
    """Return the time limits for a server process, scaled to the speed of this machine."""
    return scale_timeouts(DatabaseTimeouts(statement_timeout_s=statement_timeout_s))


class AnswerLimit:
    """The time limit after which a session with the database that does not answer is closed. Thread-safe. If a
    `process_limit` is given, this limit is shortened when `process_limit.hurry` is called.
    """

    def __init__(
        self,
        timeouts: DatabaseTimeouts,
        clock: Callable[[], float] = time.monotonic,
        process_limit: AnswerLimit | None = None,
    ) -> None:
        self.timeouts = timeouts
        self.clock = clock
        self._process_limit = process_limit
        self.last_closed_at = float("-inf")
        """The time at which a session that hung was last closed. Older sessions may hang too, so they are replaced."""
        self._hurried: float | None = None

    @property
    def _stopping_since(self) -> float | None:
        return self._hurried if self._process_limit is None else self._process_limit._stopping_since

    def hurry(self) -> None:
        """Make the time limit shorter, also for running statements, because the process is about to end."""
        if self._hurried is None:
            self._hurried = self.clock()

    def deadline(self, asked: float) -> float:
        """Return the time at which a session is closed if it has not answered since the time `asked`."""
        patient = asked + self.timeouts.statement_timeout_s + self.timeouts.answer_timeout_s
        stopping = self._stopping_since
        if stopping is None:
            return patient
        soon = max(asked, stopping) + self.timeouts.stop_answer_timeout_s
        return min(patient, soon, stopping + self.timeouts.stop_timeout_s)

    def connect_timeout_s(self) -> int:
        """Return the time limit for opening a connection, in whole seconds as psycopg requires."""
        usual = self.timeouts.connect_timeout_s
        if self._stopping_since is not None:
            usual = min(usual, self.timeouts.stop_answer_timeout_s)
        return max(1, round(usual))
