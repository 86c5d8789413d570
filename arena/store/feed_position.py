"""The position of each node's event feed, which passes the node's matches to an MQTT broker. A single server is node 0.

The position is a match number. The broker has the `end` messages of the node's matches with numbers up to the position,
except matches of tournaments.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection

from arena.store.dialect import execute, list_parameter
from arena.store.match_numbers import last_match_number

FEED_BATCH_MATCHES = 500
"""The number of matches that are read at a time to advance a feed."""
_IN_FEED_SQL = "tournament IS NULL AND (:node = 0 OR node = :node)"
_MATCHES_BETWEEN = f"""SELECT number, id FROM matches WHERE number > :position AND number <= :last AND {_IN_FEED_SQL}
ORDER BY number LIMIT :limit"""
_MATCHES_AFTER = f"""SELECT id FROM matches WHERE number > :position AND {_IN_FEED_SQL}
    AND id IN (SELECT value FROM {{each:ids}} AS told)"""


def switch_feed(connection: Connection, node: int = 0, *, on: bool) -> None:
    """Start a node's feed with the matches that end from now on, unless it has a feed. If not `on`, delete the feed."""
    if not on:
        execute(connection, "DELETE FROM feed WHERE node = :node", {"node": node})
    elif not has_feed(connection, node):
        words = {"node": node, "position": last_match_number(connection)}
        execute(connection, "INSERT INTO feed (node, position) VALUES (:node, :position)", words)


def has_feed(connection: Connection, node: int = 0) -> bool:
    """Return whether a node has a feed."""
    return _position(connection, node) is not None


def feed_range(connection: Connection, node: int = 0) -> tuple[int, int]:
    """Return two match numbers: a node's feed position, and the last match. Without a feed, both are the last match."""
    last = last_match_number(connection)
    position = _position(connection, node)
    return last if position is None else position, last


def match_ends_between(
    connection: Connection, position: int, last: int, limit: int, node: int = 0
) -> list[tuple[int, str]]:
    """Return up to `limit` of a node's ladder matches after number `position` and up to `last`, as (number, id)."""
    words = {"position": position, "last": last, "node": node, "limit": limit}
    return [(row.number, row.id) for row in execute(connection, _MATCHES_BETWEEN, words)]


def advance_feed(connection: Connection, delivered: Collection[str], node: int = 0) -> set[str]:
    """Advance the position of a node's feed up to the first match that the broker does not have. The broker has the
    matches in `delivered`. Return those of them that come after the new position: add them to `delivered` in the next
    call.
    """
    position, last = feed_range(connection, node)
    reached, missing = position, False
    while not missing and (page := match_ends_between(connection, reached, last, FEED_BATCH_MATCHES, node)):
        for number, match in page:
            missing = match not in delivered
            if missing:
                break
            reached = number
    if not missing:
        reached = last
    if reached != position:
        words = {"node": node, "position": reached}
        execute(connection, "UPDATE feed SET position = :position WHERE node = :node", words)
    further = {"position": reached, "node": node} | list_parameter("ids", delivered)
    return set(execute(connection, _MATCHES_AFTER, further).scalars())


def _position(connection: Connection, node: int) -> int | None:
    query = "SELECT position FROM feed WHERE node = :node"
    position: int | None = execute(connection, query, {"node": node}).scalar_one_or_none()
    return position
