"""Statements that run once a transaction is committed, each on its own: if one fails, the change stays.

A notification belongs here. In the transaction of a change it would undo the change if the server's queue of
notifications is full, which any role of the database can bring about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection

_STATEMENTS_KEY = "after_commit"
"""The key of the statements in the `info` of a connection."""


class LaterStatement(NamedTuple):
    """A statement and its parameters."""

    statement: str
    words: Mapping[str, Any] | None


def run_after_commit(connection: Connection, statement: str, words: Mapping[str, Any] | None = None) -> None:
    """Have `Store.write` run a statement after the transaction of this connection; the same one only once."""
    later: list[LaterStatement] = connection.info.setdefault(_STATEMENTS_KEY, [])
    if (one := LaterStatement(statement, words)) not in later:
        later.append(one)


def take_later_statements(connection: Connection) -> list[LaterStatement]:
    """Return the statements to run after this transaction, and forget them."""
    taken: list[LaterStatement] = connection.info.pop(_STATEMENTS_KEY, [])
    return taken
