"""A counter of decisions about which matches are rated. With it, a transaction that saves computed ratings notices that
a node has made a decision since the ratings were computed.
"""

from __future__ import annotations

from sqlalchemy import Connection

from arena.store.dialect import execute
from protocol.errors import ArenaFault

_VERSION_SQL = "SELECT coalesce(max(version), 0) FROM rating_decisions"
_INCREMENT_VERSION_SQL = """INSERT INTO rating_decisions (id, version) VALUES (1, 1)
ON CONFLICT (id) DO UPDATE SET version = rating_decisions.version + 1"""


class RatingDecisionsChanged(ArenaFault):
    """A decision about which matches are rated was made after these ratings were computed."""

    def __init__(self) -> None:
        super().__init__("matches were annulled, ratings rebuilt or a season begun meanwhile: try again")


def decisions_version(connection: Connection) -> int:
    """Return the number of rating decisions so far."""
    return int(execute(connection, _VERSION_SQL).scalar_one())


def record_decision(connection: Connection, expected_version: int | None = None) -> None:
    """Add 1 to the number of rating decisions. Raise `RatingDecisionsChanged` if it was not `expected_version`."""
    if expected_version not in (None, decisions_version(connection)):
        raise RatingDecisionsChanged
    execute(connection, _INCREMENT_VERSION_SQL)
