"""The store of a node: the session of its one writing connection holds the node's name, so nobody else has that, and
who has lost the connection has lost the right to write.

The row of the node says which session that is, and the database whether it goes on. An advisory lock would not do:
every role of the database can take it.
"""

from __future__ import annotations

from typing import Any, Self

from sqlalchemy import Engine, event

from arena.store.database import Database, StoreUnavailable
from arena.store.store import Store, make_sure_of
from protocol.errors import ArenaFault

LEASE = 8
"""Seconds after which the database ends a session of which it hears nothing; then the name is free."""
_ENROL = """INSERT INTO nodes (name, url) VALUES (%(name)s, '') ON CONFLICT (name) DO UPDATE SET url = nodes.url
RETURNING id, holder, session"""
"""Who has done this is alone with the row until it commits."""
_IS_OTHERS = """SELECT EXISTS (SELECT FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND pid::text = split_part(%(session)s, ' ', 1)
        AND coalesce(extract(epoch FROM backend_start)::text = split_part(%(session)s, ' ', 2), true)
)"""
"""Whether another session that goes on holds the name; when it began, only its own role is told."""
_HOLD = """UPDATE nodes SET session = (
    SELECT pid::text || ' ' || extract(epoch FROM backend_start)::text
    FROM pg_stat_activity WHERE pid = pg_backend_pid()
) WHERE id = %(node)s"""
_TAKE = "UPDATE nodes SET holder = holder + 1, draining = false WHERE id = %(node)s RETURNING holder"
_PATIENCE = f"""SELECT set_config('idle_session_timeout', '{LEASE}s', false),
    set_config('idle_in_transaction_session_timeout', '{LEASE}s', false)"""


class NodeTaken(ArenaFault):
    """Another process has the node's name, or had it meanwhile."""


class NodeStore(Store):
    """The store of the node of a name. A connection that was lost is made anew, unless somebody else had the name in
    between; then whatever is asked raises `NodeTaken`.
    """

    def __init__(self, database: Database, engine: Engine, name: str) -> None:
        super().__init__(database, engine)
        self.name = name
        self._holder: int | None = None
        """Which of those that held the name is this one."""
        event.listen(self._writer, "connect", self._hold)
        self.write(lambda connection: None)

    @classmethod
    def open_as(cls, database: Database, name: str) -> Self:
        """That of a database, which is made if it is not there. Raises `NodeTaken`, and as `open` does."""
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
            raw.close()  # which nobody else does, and so gives back what it holds
            if isinstance(exc, Error):
                raise StoreUnavailable(f"{self.database}: {exc}") from exc
            raise

    def _hold_over(self, raw: Any) -> None:
        """Hold the name over a connection that was just made."""
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
