"""The position of each node's event feed, which passes the node's matches to an MQTT broker. A single server is node 0.

The position is a match number. The broker has the `end` messages of the node's matches with numbers up to the position,
except matches of tournaments.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, insert, select, update

from arena.store.schema import feed, matches

FEED_BATCH_MATCHES = 500
"""The number of matches that are read at a time to advance a feed."""
_LAST_MATCH_NUMBER = select(func.coalesce(func.max(matches.c.number), 0))
"""The query for the number of the last match; 0 if there is none."""


def switch_feed(connection: Connection, node: int = 0, *, on: bool) -> None:
    """Start a node's feed with the matches that end from now on, unless it has a feed. If not `on`, delete the feed."""
    if not on:
        connection.execute(delete(feed).where(feed.c.node == node))
    elif not has_feed(connection, node):
        connection.execute(insert(feed).values(node=node, position=connection.execute(_LAST_MATCH_NUMBER).scalar_one()))


def has_feed(connection: Connection, node: int = 0) -> bool:
    """Return whether a node has a feed."""
    return _position(connection, node) is not None


def feed_range(connection: Connection, node: int = 0) -> tuple[int, int]:
    """Return two match numbers: a node's feed position, and the last match. Without a feed, both are the last match."""
    last = connection.execute(_LAST_MATCH_NUMBER).scalar_one()
    position = _position(connection, node)
    return last if position is None else position, last


def match_ends_between(
    connection: Connection, position: int, last: int, limit: int, node: int = 0
) -> list[tuple[int, str]]:
    """Return up to `limit` of a node's ladder matches after number `position` and up to `last`, as (number, id)."""
    number = matches.c.number
    query = select(number, matches.c.id).where(number > position, number <= last, _concerns(node))
    return [(at, match) for at, match in connection.execute(query.order_by(number).limit(limit))]


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
        connection.execute(update(feed).where(feed.c.node == node).values(position=reached))
    return _filter_after(connection, reached, list(delivered), node)


def _concerns(node: int) -> ColumnElement[bool]:
    """Return the SQL condition that selects the matches of a node's feed."""
    ladder = matches.c.tournament.is_(None)
    return and_(ladder, matches.c.node == node) if node else ladder


def _position(connection: Connection, node: int) -> int | None:
    return connection.execute(select(feed.c.position).where(feed.c.node == node)).scalar_one_or_none()


def _filter_after(connection: Connection, position: int, ids: Sequence[str], node: int) -> set[str]:
    """Return those of the matches `ids` that belong to a node's feed and have numbers above `position`."""
    query = select(matches.c.id).where(
        matches.c.number > position,
        _concerns(node),
        matches.c.id.in_(bindparam("ids", expanding=True)),
    )
    found: set[str] = set()
    for at in range(0, len(ids), FEED_BATCH_MATCHES):
        found.update(connection.execute(query, {"ids": ids[at : at + FEED_BATCH_MATCHES]}).scalars())
    return found
