"""Announcements of changes to all nodes of an arena. They are rows that commit in the same transaction as the change.

In PostgreSQL every role of a database may notify every channel. So a notification only wakes the nodes, over a channel
with a random name. The nodes then read announcements from a table that only the arena's role can write. They also read
it at each heartbeat, so an unsent notification delays an announcement by a second and loses none.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from arena.store.after_commit import run_after_commit
from arena.store.dialect import execute, is_postgresql
from arena.store.nodes import IS_ALIVE_SQL

Kind = Literal["bots", "ratings", "called", "leaving"]
MAX_NAMES_PER_ANNOUNCEMENT = 100
"""The maximum number of bot names in one announcement."""
ANNOUNCEMENT_TTL_S = 600
"""Seconds after which an announcement is deleted. A node that missed one reloads everything."""
MAX_ANNOUNCEMENTS = 1000
"""The maximum number of announcements that a node reads at a time. If more wait, it reloads everything instead."""
_INSERT_SQL = """INSERT INTO announcements (at, kind, names, node)
VALUES (extract(epoch FROM clock_timestamp()), :kind, :names, :node)"""
_REMOVE_OLD_SQL = f"DELETE FROM announcements WHERE at < extract(epoch FROM clock_timestamp()) - {ANNOUNCEMENT_TTL_S}"
_WAKE_NODES_SQL = "SELECT pg_notify(name, '') FROM wake_channel"
_ANNOUNCEMENTS_AFTER = f"""SELECT announcements.id, kind, names,
    CASE WHEN {IS_ALIVE_SQL} THEN nodes.url ELSE '' END AS url
FROM announcements LEFT JOIN nodes ON nodes.id = announcements.node
WHERE announcements.id > :after ORDER BY announcements.id LIMIT {MAX_ANNOUNCEMENTS + 1}"""
"""The query for the announcements after a position. It reads `MAX_ANNOUNCEMENTS` + 1, to detect too many."""


class Announcement(Struct, frozen=True, array_like=True):
    """A change that is announced to all nodes. The `kind` of the change says what it concerns:
    - `bots`: the bots with these folded names changed.
    - `ratings`: ratings changed.
    - `called`: the named bots should connect to the node at `url`. The URL is empty if that node is not alive.
    - `leaving`: the named bots lose their matches in progress.
    """

    kind: Kind
    names: list[str] = []
    url: str = ""


class AnnouncementBatch(NamedTuple):
    """The announcements after a position, and the position of the last one.

    The announcements are None if there are too many, if one is of an unknown kind, or if some may have been deleted
    unread.
    """

    announcements: Sequence[Announcement] | None
    position: int


def announce(connection: Connection, kind: Kind, names: Iterable[str] = (), node: int | None = None) -> None:
    """Insert an announcement for all nodes, which see it when the transaction commits. Do nothing on SQLite, which has
    no nodes. For the kind `called`, `node` is the number of the node to which the named bots should connect.
    """
    if not is_postgresql(connection):
        return
    all_names = list(names)
    execute(connection, _REMOVE_OLD_SQL)
    for start in range(0, len(all_names) or 1, MAX_NAMES_PER_ANNOUNCEMENT):
        text = msgspec.json.encode(all_names[start : start + MAX_NAMES_PER_ANNOUNCEMENT]).decode()
        execute(connection, _INSERT_SQL, {"kind": kind, "names": text, "node": node})
    run_after_commit(connection, _WAKE_NODES_SQL)


def wake_channel(connection: Connection) -> str:
    """Return the random name of the channel that wakes nodes. The first call chooses and stores it."""
    statement = "INSERT INTO wake_channel (id, name) VALUES (1, :name) ON CONFLICT DO NOTHING"
    execute(connection, statement, {"name": f"arena_{secrets.token_hex(16)}"})
    return str(execute(connection, "SELECT name FROM wake_channel").scalar_one())


def free_queue(connection: Connection) -> None:
    """Make PostgreSQL delete the notifications that every listener has read, so that a full queue has room again.

    PostgreSQL would otherwise delete them only when it accepts another notification, which a full queue refuses. This
    may take seconds if the queue has 8 GB.
    """
    execute(connection, "SELECT pg_notification_queue_usage()")


def last_announcement(connection: Connection) -> int:
    """Return the position of the last announcement; 0 if there is none."""
    return int(execute(connection, "SELECT coalesce(max(id), 0) FROM announcements").scalar_one())


def read_announcements_after(connection: Connection, position: int) -> AnnouncementBatch:
    """Return the announcements after a position.

    The numbers of announcements are consecutive, because only one transaction writes at a time. At a gap, some were
    deleted or a transaction failed. The reader cannot know which, so it reloads everything.
    """
    rows = execute(connection, _ANNOUNCEMENTS_AFTER, {"after": position}).all()
    if len(rows) > MAX_ANNOUNCEMENTS or (rows and rows[0].id != position + 1):
        return AnnouncementBatch(None, last_announcement(connection))
    last = rows[-1].id if rows else position
    try:
        return AnnouncementBatch([_announcement(row) for row in rows], last)
    except msgspec.MsgspecError:  # written by a newer version: reload everything
        return AnnouncementBatch(None, last)


def _announcement(row: Any) -> Announcement:
    names = msgspec.json.decode(row.names, type=list[str])
    return msgspec.convert((row.kind, names, row.url), Announcement)
