"""Statements that run after a transaction is committed, each on its own. If one fails, the transaction's change stays.

Notifications are sent in this way. Within the transaction, a notification would undo the change if the server's queue
of notifications is full. Any role of the database can fill that queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection

_STATEMENTS_KEY = "after_commit"
"""The key in a connection's `info` for the statements to run after its current transaction."""


class LaterStatement(NamedTuple):
    """A statement that runs after a transaction, and the statement's parameters."""

    statement: str
    words: Mapping[str, Any] | None


def run_after_commit(connection: Connection, statement: str, words: Mapping[str, Any] | None = None) -> None:
    """Make `Store.write` run a statement after this connection's current transaction. Identical statements run once."""
    later: list[LaterStatement] = connection.info.setdefault(_STATEMENTS_KEY, [])
    if (one := LaterStatement(statement, words)) not in later:
        later.append(one)


def take_later_statements(connection: Connection) -> list[LaterStatement]:
    """Return the statements to run after a connection's current transaction, and remove them from the connection."""
    taken: list[LaterStatement] = connection.info.pop(_STATEMENTS_KEY, [])
    return taken
