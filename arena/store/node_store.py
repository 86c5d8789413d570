"""The store of a node: its one writing connection holds a lock that is the node's name, so nobody else has that, and
who has lost the connection has lost the right to write.
"""

from __future__ import annotations

from typing import Any, Self

from sqlalchemy import Engine, event

from arena.store.database import Database, StoreUnavailable
from arena.store.store import Store, make_sure_of
from protocol.errors import ArenaFault

NAMED = 0x6E6F6465
"""The advisory locks of nodes, each with the node's number."""
LEASE = 8
"""Seconds after which the database ends a session of which it hears nothing, and with it the lock."""
_ENROL = """INSERT INTO nodes (name, url) VALUES (%(name)s, '') ON CONFLICT (name) DO UPDATE SET url = nodes.url
RETURNING id, holder"""
_HOLD = "SELECT pg_try_advisory_lock(%(locks)s, %(node)s)"
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
        self.node, holder = raw.execute(_ENROL, {"name": self.name}).fetchone()
        words = {"locks": NAMED, "node": self.node}
        (held,) = raw.execute(_HOLD, words).fetchone()
        if self._holder is None:
            if not held:
                raise NodeTaken(f"a node {self.name} runs already: give this one another name with --node")
            (self._holder,) = raw.execute(_TAKE, words).fetchone()
        elif holder != self._holder:
            raise NodeTaken(f"another process has taken the name of this node, {self.name}")
        elif not held:
            raise StoreUnavailable(f"{self.database}: the session that was lost still has the node's name")
        raw.execute(_PATIENCE)
        raw.commit()
