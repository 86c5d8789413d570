"""The store of a node. It has a single writing connection, whose session owns the node's name.

A node that loses this connection loses its right to write. The node's row names the session, and PostgreSQL says
whether that session still exists. An advisory lock would not be safe, because every role of the database can take it.
"""

from __future__ import annotations

from typing import Any, Self

from sqlalchemy import Engine, event

from arena.store.answer_limit import SERVER_STATEMENT_TIMEOUT_S
from arena.store.database import Database, StoreUnavailable
from arena.store.store import Store, ensure_database
from protocol.errors import ArenaFault

NODE_LEASE_S = 8
"""Seconds for which a session may be idle before the database ends it. Its node name is free after that."""
UNLISTED_DELAY_S = 2
"""Maximum seconds between the end of a session and PostgreSQL's removal of it from the list of sessions."""
_UPSERT_NODE = """INSERT INTO nodes (name, url) VALUES (%(name)s, '') ON CONFLICT (name) DO UPDATE SET url = nodes.url
RETURNING id, holder, session"""
"""The statement that returns a node's row, after creating it if needed. It locks the row until the transaction ends."""
_OTHER_SESSION_SQL = f"""SELECT coalesce(extract(epoch FROM clock_timestamp() - state_change)::float, 0) AS silent_s,
    wait_event_type IS DISTINCT FROM 'Lock' AS is_not_queued,
    %(unlisted)s + CASE WHEN state <> 'active' THEN %(lease)s
        ELSE coalesce(nullif(split_part(%(session)s, ' ', 3), '')::float, {SERVER_STATEMENT_TIMEOUT_S}) END AS longest_s
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND pid::text = split_part(%(session)s, ' ', 1)
    AND coalesce(extract(epoch FROM backend_start)::text = split_part(%(session)s, ' ', 2), true)"""
"""The query for the other session that holds a node's name, to find out if it hangs. There is no row if it has ended.

`silent_s` is the time since its state changed. `longest_s` is the maximum time for which the database lets it be idle,
or lets its statement run. A session that is silent for longer hangs, unless it waits for a lock: then `is_not_queued`
is false. PostgreSQL shows the start of a session only to the session's own role. If the start is not visible, only the
process id is compared.
"""
_END_SESSION_SQL = "SELECT pg_terminate_backend(split_part(%(session)s, ' ', 1)::int)"
"""The statement that ends a session. A session whose process is frozen ends as soon as the process resumes."""
_STORE_SESSION_SQL = """UPDATE nodes SET session = (
    SELECT pid::text || ' ' || extract(epoch FROM backend_start)::text || ' ' || %(longest)s::text
    FROM pg_stat_activity WHERE pid = pg_backend_pid()
) WHERE id = %(node)s"""
"""The statement that stores the session that holds a node's name: its process id, its start, and how long its
statements may take. The start is needed because an earlier session may have had the same process id.
"""
_TAKE_NAME_SQL = "UPDATE nodes SET holder = holder + 1, draining = false WHERE id = %(node)s RETURNING holder"
"""The statement that makes this process the holder of a node's name. It adds 1 to the number of processes that have
ever held the name.
"""
_SET_SESSION_TIMEOUTS = f"""SELECT set_config('idle_session_timeout', '{NODE_LEASE_S}s', false),
    set_config('idle_in_transaction_session_timeout', '{NODE_LEASE_S}s', false)"""
"""The statement that makes the database end this session after `NODE_LEASE_S` of idleness."""


class NodeTaken(ArenaFault):
    """Another process has the node's name. The session of that process was silent for `silent_s` seconds."""

    def __init__(self, message: str, silent_s: float = 0.0) -> None:
        super().__init__(message)
        self.silent_s = silent_s


class NodeStore(Store):
    """The store of a named node. It reconnects after a lost connection. If another process took the name meanwhile,
    every call raises `NodeTaken`.
    """

    def __init__(self, database: Database, engine: Engine, name: str) -> None:
        super().__init__(database, engine)
        self.name = name
        self._holder_number: int | None = None
        """The position of this process among all that have ever taken the node's name, counted from 1. None until it
        has taken the name.
        """
        event.listen(self._writer, "connect", self._claim_on_connect)
        self.write(lambda connection: None)

    @classmethod
    def open_as(cls, database: Database, name: str) -> Self:
        """Open a database under a node's name; create it if needed. Raise `NodeTaken` if another process has it."""
        ensure_database(database)
        engine = database.connect()
        try:
            return cls(database, engine, name)._with_games()
        except BaseException:
            engine.dispose()
            raise

    def _claim_on_connect(self, raw: Any, _: Any) -> None:
        from psycopg import Error

        try:
            self._claim_name(raw)
        except BaseException as exc:
            raw.close()  # no other code closes it; this releases its locks
            if isinstance(exc, Error):
                raise StoreUnavailable(self.database.message(exc)) from exc
            raise

    def _claim_name(self, raw: Any) -> None:
        """Take the node's name, over a new connection. First end an earlier session of this process, and a session of
        another process that hangs. Raise `NodeTaken` if another process has the name.
        """
        self.node, holder, session = raw.execute(_UPSERT_NODE, {"name": self.name}).fetchone()
        if self._holder_number not in (None, holder):
            raise NodeTaken(f"another process has taken the name of this node, {self.name}")
        longest_s = raw.limit.timeouts.statement_timeout_s + raw.limit.timeouts.answer_timeout_s
        words = {
            "node": self.node,
            "session": session or "",
            "longest": longest_s,
            "lease": NODE_LEASE_S,
            "unlisted": UNLISTED_DELAY_S,
        }
        other = raw.execute(_OTHER_SESSION_SQL, words).fetchone()
        if other is not None:
            silent_s, is_not_queued, longest_s = other
            if self._holder_number is None and not (is_not_queued and silent_s > longest_s):
                text = f"a node {self.name} runs already: give this one another name with --node"
                raise NodeTaken(text, silent_s)
            # The session is this process's, or it hangs. Ending it releases its locks.
            raw.execute(_END_SESSION_SQL, words)
        if self._holder_number is None:
            (self._holder_number,) = raw.execute(_TAKE_NAME_SQL, words).fetchone()
        raw.execute(_STORE_SESSION_SQL, words)
        raw.execute(_SET_SESSION_TIMEOUTS)
        raw.commit()
