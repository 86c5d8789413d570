"""What one node changes and others have to know at once: rows that are written with the change or not at all.

PostgreSQL lets every role of a database send on every channel, so a notification only wakes the nodes, on a channel
whose name is drawn at random: what they then read is what the arena's role has written. They read it at every sign of
life, too.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from arena.store.dialect import execute, is_postgresql
from arena.store.nodes import IS_ALIVE

Kind = Literal["bots", "ratings", "called", "leaving"]
MAX_NAMES = 100
"""In one announcement."""
ANNOUNCEMENT_TTL_S = 600
"""Announcements are removed after this long. Nodes read them within a second, or read everything anew."""
MAX_ANNOUNCEMENTS = 1000
"""A node reads this many at once; where there are more, it reads everything anew instead."""
_INSERT = """INSERT INTO announcements (at, kind, names, node)
VALUES (extract(epoch FROM clock_timestamp()), :kind, :names, :node)"""
_REMOVE_OLD = f"DELETE FROM announcements WHERE at < extract(epoch FROM clock_timestamp()) - {ANNOUNCEMENT_TTL_S}"
_WAKE = "SELECT pg_notify(name, '') FROM wake_channel"
_AFTER = f"""SELECT announcements.id, kind, names,
    CASE WHEN {IS_ALIVE} THEN nodes.url ELSE '' END AS url
FROM announcements LEFT JOIN nodes ON nodes.id = announcements.node
WHERE announcements.id > :after ORDER BY announcements.id LIMIT {MAX_ANNOUNCEMENTS + 1}"""


class Announcement(Struct, frozen=True, array_like=True):
    """Something has changed: with `bots` of these names (folded), with `ratings`; or bots are `called` to a node at
    `url`, which is empty where it is not alive, or `leaving`: they lose their matches under way.
    """

    kind: Kind
    names: list[str] = []
    url: str = ""


class Announced(NamedTuple):
    """The announcements after some position, None where these are too many or not known; and where the last one is."""

    announcements: Sequence[Announcement] | None
    position: int


def announce(connection: Connection, kind: Kind, names: Iterable[str] = (), node: int | None = None) -> None:
    """Tell all nodes, once what is done over this connection is committed. On SQLite there are none. Bots are called
    to the `node` of this number.
    """
    if not is_postgresql(connection):
        return
    told = list(names)
    execute(connection, _REMOVE_OLD)
    for at in range(0, len(told) or 1, MAX_NAMES):
        text = msgspec.json.encode(told[at : at + MAX_NAMES]).decode()
        execute(connection, _INSERT, {"kind": kind, "names": text, "node": node})
    execute(connection, _WAKE)


def wake_channel(connection: Connection) -> str:
    """Return the name of the channel on which nodes are woken, which is drawn if there is none. It writes."""
    statement = "INSERT INTO wake_channel (id, name) VALUES (1, :name) ON CONFLICT DO NOTHING"
    execute(connection, statement, {"name": f"arena_{secrets.token_hex(16)}"})
    return str(execute(connection, "SELECT name FROM wake_channel").scalar_one())


def last_announcement(connection: Connection) -> int:
    """Return the position of the last announcement; 0 where there is none."""
    return int(execute(connection, "SELECT coalesce(max(id), 0) FROM announcements").scalar_one())


def announced_after(connection: Connection, position: int) -> Announced:
    """Return what was announced after a position."""
    rows = execute(connection, _AFTER, {"after": position}).all()
    if len(rows) > MAX_ANNOUNCEMENTS:
        return Announced(None, last_announcement(connection))
    last = rows[-1].id if rows else position
    try:
        return Announced([_announcement(row) for row in rows], last)
    except msgspec.MsgspecError:  # of a newer version: then all is read anew
        return Announced(None, last)


def _announcement(row: Any) -> Announcement:
    names = msgspec.json.decode(row.names, type=list[str])
    return msgspec.convert((row.kind, names, row.url), Announcement)
