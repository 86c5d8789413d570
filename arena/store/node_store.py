"""The store of a node: the session of its single writing connection owns the node's name.

A node that loses this connection loses its right to write. The node's row names the session, and PostgreSQL says
whether that session still exists. An advisory lock would not do, since every role of the database can take it.
"""

from __future__ import annotations

from typing import Any, Self

from sqlalchemy import Engine, event

from arena.store.database import Database, StoreUnavailable
from arena.store.store import Store, make_sure_of
from protocol.errors import ArenaFault

LEASE = 8
"""The database ends a session idle for this many seconds; its node name is then free."""
_ENROL = """INSERT INTO nodes (name, url) VALUES (%(name)s, '') ON CONFLICT (name) DO UPDATE SET url = nodes.url
RETURNING id, holder, session"""
"""This statement locks the row until the transaction ends."""
_IS_OTHERS = """SELECT EXISTS (SELECT FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND pid::text = split_part(%(session)s, ' ', 1)
        AND coalesce(extract(epoch FROM backend_start)::text = split_part(%(session)s, ' ', 2), true)
)"""
"""SQL that tells whether another live session holds the name. A session's start is visible only to its own role."""
_HOLD = """UPDATE nodes SET session = (
    SELECT pid::text || ' ' || extract(epoch FROM backend_start)::text
    FROM pg_stat_activity WHERE pid = pg_backend_pid()
) WHERE id = %(node)s"""
_TAKE = "UPDATE nodes SET holder = holder + 1, draining = false WHERE id = %(node)s RETURNING holder"
_PATIENCE = f"""SELECT set_config('idle_session_timeout', '{LEASE}s', false),
    set_config('idle_in_transaction_session_timeout', '{LEASE}s', false)"""


class NodeTaken(ArenaFault):
    """Another process holds the node's name, or held it in between."""


class NodeStore(Store):
    """The store of a named node. It reconnects after a lost connection. If another process took the name in between,
    every call raises `NodeTaken`.
    """

    def __init__(self, database: Database, engine: Engine, name: str) -> None:
        super().__init__(database, engine)
        self.name = name
        self._holder: int | None = None
        """This process's number among those that have taken the name."""
        event.listen(self._writer, "connect", self._hold)
        self.write(lambda connection: None)

    @classmethod
    def open_as(cls, database: Database, name: str) -> Self:
        """Open a database under a node's name, creating it if needed. Raises `NodeTaken`, and as `open` does."""
        make_sure_of(database)
        engine = database.connect()
        try:
            return cls(database, engine, name)
        except BaseException:
            engine.dispose()
            raise

    def _hold(self, raw: Any, _: Any) -> None:
        from psycopg import Error

        try:
            self._hold_over(raw)
        except BaseException as exc:
            raw.close()  # releases the name, since the pool does not close this connection
            if isinstance(exc, Error):
                raise StoreUnavailable(f"{self.database}: {exc}") from exc
            raise

    def _hold_over(self, raw: Any) -> None:
        """Claim the name over a new connection."""
        self.node, holder, session = raw.execute(_ENROL, {"name": self.name}).fetchone()
        words = {"node": self.node, "session": session or ""}
        (others,) = raw.execute(_IS_OTHERS, words).fetchone()
        if self._holder is None:
            if others:
                raise NodeTaken(f"a node {self.name} runs already: give this one another name with --node")
            (self._holder,) = raw.execute(_TAKE, words).fetchone()
        elif holder != self._holder:
            raise NodeTaken(f"another process has taken the name of this node, {self.name}")
        elif others:
            raise StoreUnavailable(f"{self.database}: the session that was lost still has the node's name")
        raw.execute(_HOLD, words)
        raw.execute(_PATIENCE)
        raw.commit()
