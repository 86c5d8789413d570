"""Connections of psycopg that are closed when the database server does not answer in time.

The operating system notices a server that cannot be reached, and the database itself ends a statement that takes too
long. Neither helps if the server's process for the session hangs, or if a proxy acknowledges data that it never passes
on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

from psycopg import AsyncConnection, Connection, Error, OperationalError, capabilities, waiting

from arena.store.answer_limit import AnswerLimit

CANCEL_TIMEOUT_S = 1.0
"""Seconds to wait until the server has cancelled a statement, when the process is interrupted."""
CHECK_INTERVAL_S = 0.1
"""Seconds between two checks of the time limit while a connection waits for an answer."""


class NoDatabaseAnswer(OperationalError):
    """A session did not answer in time, and was closed."""


class BoundedConnection(Connection[Any]):
    """A connection that is closed if an answer takes longer than `limit` allows. If the wait is interrupted, the
    connection is closed too, because the process is about to end.
    """

    limit: AnswerLimit

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        try:  # psycopg itself would wait ten more seconds after an interruption
            return waiting.wait(_bounded(gen, self.limit), self.pgconn.socket, interval=CHECK_INTERVAL_S)
        except NoDatabaseAnswer:
            self.limit.last_closed_at = self.limit.clock()
            self.close()
            raise
        except (KeyboardInterrupt, SystemExit):
            self.limit.hurry()
            if capabilities.has_cancel_safe():  # otherwise cancelling may wait for ever
                with contextlib.suppress(Error):  # end a long statement in the server too
                    self.cancel_safe(timeout=CANCEL_TIMEOUT_S)
            self.close()
            raise


class BoundedAsyncConnection(AsyncConnection[Any]):
    """An asynchronous connection that is closed if an answer takes longer than `limit` allows. While it is `patient`,
    as when it listens for notifications, it waits without a limit.
    """

    limit: AnswerLimit
    patient = False

    async def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        waited_for = gen if self.patient else _bounded(gen, self.limit)
        try:  # psycopg itself would first ask the server to cancel the statement
            return await waiting.wait_async(waited_for, self.pgconn.socket, interval=CHECK_INTERVAL_S)
        except BaseException:
            if not self.patient:
                self.pgconn.finish()
            raise


def _bounded(steps: Generator[Any, Any, Any], limit: AnswerLimit) -> Generator[Any, Any, Any]:
    """Carry out the steps of an operation while the server answers in time. Raise `NoDatabaseAnswer` if it does not."""
    asked = limit.clock()
    try:
        state = next(steps)
        while True:
            ready = yield state
            now = limit.clock()
            if ready:
                asked = now
            elif now > limit.deadline(asked):
                raise NoDatabaseAnswer(f"no answer for {now - asked:.0f} s: the session is closed")
            state = steps.send(ready)
    except StopIteration as done:
        return done.value
