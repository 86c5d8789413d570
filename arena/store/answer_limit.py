"""Client-side limits on how long a database server may take to answer, because a server that hangs reports nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from machine.timeouts import scale_timeouts


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseTimeouts:
    """The time limits of sessions with a database, in seconds. The defaults are for commands, where a person waits."""

    connect_timeout_s: float = 5.0
    """A server that has not let a connection in after this time is away."""
    statement_timeout_s: float = 3600.0
    """A server that has not accepted a connection after this time counts as unreachable."""
    lock_timeout_s: float = 10.0
    """The database ends a statement that has waited for a lock for this long, or for half of `statement_timeout_s`."""
    answer_timeout_s: float = 5.0
    """A session that has not even reported the end of a statement this much later hangs, and is closed."""
    stop_answer_timeout_s: float = 2.5
    """Time limit of a statement in a process that is about to end."""
    stop_timeout_s: float = 7.5
    """A process that is about to end waits for no statement after this time."""


SERVER_STATEMENT_TIMEOUT_S = 20
"""Time limit of a statement in a server, where statements take much less and bots wait for them."""


def of_server(statement_timeout_s: float = SERVER_STATEMENT_TIMEOUT_S) -> DatabaseTimeouts:
    """Return the time limits of a process that serves others, on this machine."""
    return scale_timeouts(DatabaseTimeouts(statement_timeout_s=statement_timeout_s))


class AnswerLimit:
    """Decides when a session that does not answer is closed. Thread-safe. With `process_limit`, it hurries when that
    limit does.
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
        self.last_hang = float("-inf")
        """The time at which a session was last closed because it hung. Sessions that were opened before that may hang
        too, and are replaced.
        """
        self._hurried: float | None = None

    @property
    def _stopping_since(self) -> float | None:
        return self._hurried if self._process_limit is None else self._process_limit._stopping_since

    def hurry(self) -> None:
        """Wait less from now on, for statements under way too: the process is about to end."""
        if self._hurried is None:
            self._hurried = self.clock()

    def deadline(self, asked: float) -> float:
        """Return the time at which a session is given up that was asked something at the time `asked`."""
        patient = asked + self.timeouts.statement_timeout_s + self.timeouts.answer_timeout_s
        stopping = self._stopping_since
        if stopping is None:
            return patient
        soon = max(asked, stopping) + self.timeouts.stop_answer_timeout_s
        return min(patient, soon, stopping + self.timeouts.stop_timeout_s)

    def connect_timeout_s(self) -> int:
        """Return the time limit for a new connection, in whole seconds as psycopg takes it."""
        usual = self.timeouts.connect_timeout_s
        if self._stopping_since is not None:
            usual = min(usual, self.timeouts.stop_answer_timeout_s)
        return max(1, round(usual))
