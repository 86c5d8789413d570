"""The store of a node: the session of its single writing connection owns the node's name.

A node that loses this connection loses its right to write. The node's row names the session, and PostgreSQL says
whether that session still exists. An advisory lock would not do, since every role of the database can take it.
"""

from __future__ import annotations

from typing import Any, Self

from sqlalchemy import Engine, event

from arena.store.answer_limit import SERVER_STATEMENT_TIMEOUT_S
from arena.store.database import Database, StoreUnavailable
from arena.store.store import Store, ensure_database
from protocol.errors import ArenaFault

LEASE_S = 8
"""The database ends a session idle for this many seconds; its node name is then free."""
UNLISTED_DELAY_S = 2
"""A session that the database ends is still listed for a moment."""
_UPSERT_NODE = """INSERT INTO nodes (name, url) VALUES (%(name)s, '') ON CONFLICT (name) DO UPDATE SET url = nodes.url
RETURNING id, holder, session"""
"""This statement locks the row until the transaction ends."""
_OTHER_SESSION = f"""SELECT coalesce(extract(epoch FROM clock_timestamp() - state_change)::float, 0) AS silent_s,
    wait_event_type IS DISTINCT FROM 'Lock' AS is_not_queued,
    %(unlisted)s + CASE WHEN state <> 'active' THEN %(lease)s
        ELSE coalesce(nullif(split_part(%(session)s, ' ', 3), '')::float, {SERVER_STATEMENT_TIMEOUT_S}) END AS longest_s
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND pid::text = split_part(%(session)s, ' ', 1)
    AND coalesce(extract(epoch FROM backend_start)::text = split_part(%(session)s, ' ', 2), true)"""
"""The session that holds the name, if it goes on; when it began, only its own role is told. For how long nothing has
changed there, and how long the database would let it idle, or would take for a statement: one that is silent for longer
hangs.
"""
_END_SESSION = "SELECT pg_terminate_backend(split_part(%(session)s, ' ', 1)::int)"
"""A session that stands still ends as soon as it goes on, before it does anything else."""
_STORE_SESSION = """UPDATE nodes SET session = (
    SELECT pid::text || ' ' || extract(epoch FROM backend_start)::text || ' ' || %(longest)s::text
    FROM pg_stat_activity WHERE pid = pg_backend_pid()
) WHERE id = %(node)s"""
"""Others may have had the process id of this session before, so its name has when it began; and how long its statements
may take.
"""
_TAKE_NAME = "UPDATE nodes SET holder = holder + 1, draining = false WHERE id = %(node)s RETURNING holder"
_SET_SESSION_TIMEOUTS = f"""SELECT set_config('idle_session_timeout', '{LEASE_S}s', false),
    set_config('idle_in_transaction_session_timeout', '{LEASE_S}s', false)"""


class NodeTaken(ArenaFault):
    """Another process has the node's name, or had it meanwhile. Its session has been silent for so long."""

    def __init__(self, message: str, silent_s: float = 0.0) -> None:
        super().__init__(message)
        self.silent_s = silent_s


class NodeStore(Store):
    """The store of a named node. It reconnects after a lost connection. If another process took the name in between,
    every call raises `NodeTaken`.
    """

    def __init__(self, database: Database, engine: Engine, name: str) -> None:
        super().__init__(database, engine)
        self.name = name
        self._holder_number: int | None = None
        """This process's number among those that have taken the name."""
        event.listen(self._writer, "connect", self._claim_on_connect)
        self.write(lambda connection: None)

    @classmethod
    def open_as(cls, database: Database, name: str) -> Self:
        """Open a database under a node's name, creating it if needed. Raises `NodeTaken`, and as `open` does."""
        ensure_database(database)
        engine = database.connect()
        try:
            return cls(database, engine, name)
        except BaseException:
            engine.dispose()
            raise

    def _claim_on_connect(self, raw: Any, _: Any) -> None:
        from psycopg import Error

        try:
            self._claim_name(raw)
        except BaseException as exc:
            raw.close()  # which nobody else does, and so gives back what it holds
            if isinstance(exc, Error):
                raise StoreUnavailable(self.database.message(exc)) from exc
            raise

    def _claim_name(self, raw: Any) -> None:
        """Hold the name over a connection that was just made, in place of one of this process, or one that hangs."""
        self.node, holder, session = raw.execute(_UPSERT_NODE, {"name": self.name}).fetchone()
        if self._holder_number not in (None, holder):
            raise NodeTaken(f"another process has taken the name of this node, {self.name}")
        longest_s = raw.limit.timeouts.statement_timeout_s + raw.limit.timeouts.answer_timeout_s
        words = {
            "node": self.node,
            "session": session or "",
            "longest": longest_s,
            "lease": LEASE_S,
            "unlisted": UNLISTED_DELAY_S,
        }
        other = raw.execute(_OTHER_SESSION, words).fetchone()
        if other is not None:
            silent_s, is_not_queued, longest_s = other
            if self._holder_number is None and not (is_not_queued and silent_s > longest_s):
                text = f"a node {self.name} runs already: give this one another name with --node"
                raise NodeTaken(text, silent_s)
            raw.execute(
                _END_SESSION, words
            )  # of this process, or one that hangs: what it holds it gives back, if it still can
        if self._holder_number is None:
            (self._holder_number,) = raw.execute(_TAKE_NAME, words).fetchone()
        raw.execute(_STORE_SESSION, words)
        raw.execute(_SET_SESSION_TIMEOUTS)
        raw.commit()
