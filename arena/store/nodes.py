"""The nodes of an arena on PostgreSQL, and their matches in progress. The database's clock says which are alive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct
from sqlalchemy import Connection

from arena.store.actions import log_action
from arena.store.after_commit import run_after_commit
from arena.store.dialect import execute, is_postgresql, list_parameter
from arena.store.retention_clock import NOW_SQL
from arena.store.rows import read_row, read_rows
from protocol.errors import UsageFault
from protocol.names import fold_name

NODE_TIMEOUT_S = 6
"""Seconds without a heartbeat after which a node counts as gone. Other nodes then pair bots in the games for which it
was responsible.
"""
_ISO_TIME_SQL = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
_ALIVE_SINCE_SQL = _ISO_TIME_SQL.format(f"(clock_timestamp() - interval '{NODE_TIMEOUT_S} s')")
"""The SQL expression for a limit: a node counts as alive if it was last seen after this time."""
IS_ALIVE_SQL = f"coalesce(nodes.seen > {_ALIVE_SINCE_SQL}, false)"
"""The SQL expression that is true if a node is alive."""
_LIST_NODES = f"""SELECT nodes.*, {IS_ALIVE_SQL} AS alive,
    (SELECT count(*) FROM under_way WHERE under_way.node = nodes.id) AS matches
FROM nodes WHERE url <> '' ORDER BY name"""
"""The query for the nodes that have a URL, each with a flag `alive` and the number of matches that it hosts."""
_LIST_LIVE_NODES = f"SELECT name FROM nodes WHERE seen > {_ALIVE_SINCE_SQL} ORDER BY name"
_URLS_OF_BOT = """SELECT DISTINCT nodes.url FROM under_way JOIN nodes ON nodes.id = under_way.node
WHERE strpos(under_way.bots, :bot) > 0 AND nodes.id <> :node ORDER BY nodes.url"""

_NODES_OF_BOT = """SELECT DISTINCT nodes.name FROM under_way JOIN nodes ON nodes.id = under_way.node
WHERE strpos(under_way.bots, :bot) > 0 ORDER BY nodes.name"""


State = Literal["alive", "draining", "stopped", "gone"]


class NodeStatus(Struct, frozen=True, kw_only=True):
    """The status of a node. `url` is the URL for clients. `seen` is when the node was last alive; None if it was shut
    down. `matches` counts its matches in progress.
    """

    name: str
    url: str
    seen: str | None
    alive: bool
    draining: bool
    matches: int

    @property
    def state(self) -> State:
        """The state of the node. `stopped` means that it was shut down, `gone` that its heartbeats ceased."""
        if self.alive:
            return "draining" if self.draining else "alive"
        return "stopped" if self.seen is None else "gone"


class MatchInProgress(NamedTuple):
    """A match in progress on a node. `header` is its record's header (JSON), `secret` the seed of its dice (hex)."""

    node: int
    match: str
    header: str
    secret: str
    bots: Sequence[str]


def record_heartbeat(connection: Connection, node: int, url: str, echo: str | None = None) -> list[NodeStatus]:
    """Store that this node is alive and has this URL, and return all nodes. If `echo` is given, send a notification to
    the channel of that name after the commit.
    """
    execute(connection, f"UPDATE nodes SET seen = {NOW_SQL}, url = :url WHERE id = :node", {"node": node, "url": url})
    if echo is not None:
        run_after_commit(connection, "SELECT pg_notify(:echo, '')", {"echo": echo})
    return list_nodes(connection)


def mark_stopped(connection: Connection, node: int) -> None:
    """Store that a node was shut down."""
    execute(connection, "UPDATE nodes SET seen = NULL WHERE id = :node", {"node": node})


def forget_node(connection: Connection, name: str, by: str) -> None:
    """Hide a node that is gone from the list of nodes until it comes back. A node with matches in progress is not
    hidden. Its row stays, because its matches refer to it. `by` is the operator, for the audit log.
    """
    statement = """UPDATE nodes SET seen = NULL, url = ''
    WHERE name = :name AND NOT EXISTS (SELECT 1 FROM under_way WHERE under_way.node = nodes.id)"""
    execute(connection, statement, {"name": name})
    log_action(connection, by, "lost_node", [name])


def list_nodes(connection: Connection) -> list[NodeStatus]:
    """Return all nodes by name, except those that `forget_node` removed."""
    rows = execute(connection, _LIST_NODES)
    return read_rows(NodeStatus, rows)


def live_nodes(connection: Connection) -> list[str]:
    """Return the names of the nodes that are alive."""
    return list(execute(connection, _LIST_LIVE_NODES).scalars())


def drain_node(connection: Connection, name: str, by: str, *, undo: bool = False) -> None:
    """Make a node accept no new matches, or accept them again (`undo`). `by` is the operator. Raise `UsageFault` for an
    unknown node.
    """
    words = {"name": name, "draining": not undo}
    if execute(connection, "UPDATE nodes SET draining = :draining WHERE name = :name", words).rowcount != 1:
        raise UsageFault(f"there is no node {name!r}: `arena node list` names them")
    log_action(connection, by, "undo_drain_node" if undo else "drain_node", [name])


class BotGone(UsageFault):
    """A match cannot begin, because one of its bots was renamed or deleted a moment ago."""

    def __init__(self, bot: str) -> None:
        super().__init__(f"the match does not start, because {bot} was renamed or deleted a moment ago")


def begin_matches(connection: Connection, begun: Sequence[MatchInProgress]) -> dict[str, BotGone]:
    """Register matches that are about to begin, or to continue, perhaps on another node than before. Return the reason
    why a match cannot begin, by match id.

    A function that renames or deletes a bot first checks the registered matches, and only one transaction writes at a
    time. So the later of the two always sees the change that the other made.
    """
    names = {fold_name(bot): bot for one in begun for bot in one.bots}
    query = "SELECT key FROM bots WHERE key IN (SELECT value FROM {each:keys} AS told)"
    known = set(execute(connection, query, list_parameter("keys", names)).scalars())
    gone = {one.match: BotGone(bot) for one in begun for bot in one.bots if fold_name(bot) not in known}
    begun = [one for one in begun if one.match not in gone]
    if not begun:
        return gone
    statement = """INSERT INTO under_way (match, node, header, secret, bots)
    VALUES (:match, :node, :header, :secret, :bots) ON CONFLICT (match) DO UPDATE SET node = excluded.node"""
    execute(connection, statement, [{**one._asdict(), "bots": _join_folded(one.bots)} for one in begun])
    return gone


def _join_folded(bots: Sequence[str]) -> str:
    return f" {' '.join(map(fold_name, bots))} "


def end_matches(connection: Connection, matches: Sequence[str]) -> None:
    """Delete the registrations of matches that are stored now, or that will never be stored."""
    statement = "DELETE FROM under_way WHERE match IN (SELECT value FROM {each:ids} AS told)"
    execute(connection, statement, list_parameter("ids", matches))


def matches_of(connection: Connection, name: str) -> list[MatchInProgress]:
    """Return the matches in progress on the node with this name."""
    query = """SELECT node, match, header, secret, bots FROM under_way JOIN nodes ON nodes.id = under_way.node
    WHERE nodes.name = :name ORDER BY match"""
    rows = execute(connection, query, {"name": name})
    return [read_row(MatchInProgress, row, bots=row.bots.split()) for row in rows]


def url_of_match(connection: Connection, match: str) -> str | None:
    """Return the URL of the node where a match is in progress; None if the match is on no node."""
    query = "SELECT url FROM under_way JOIN nodes ON nodes.id = under_way.node WHERE match = :match"
    url: str | None = execute(connection, query, {"match": match}).scalar()
    return url


def urls_of_bot(connection: Connection, node: int, bot: str) -> list[str]:
    """Return the URLs of the nodes, except `node`, where a bot has matches in progress."""
    found = execute(connection, _URLS_OF_BOT, {"bot": _join_folded([bot]), "node": node})
    return list(found.scalars())


def nodes_of_bot(connection: Connection, bot: str) -> list[str]:
    """Return the names of the nodes where a bot has matches in progress; none on SQLite, which has no nodes."""
    if not is_postgresql(connection):
        return []
    return list(execute(connection, _NODES_OF_BOT, {"bot": _join_folded([bot])}).scalars())


def node_urls(connection: Connection) -> list[str]:
    """Return the client URLs of all listed nodes."""
    return list(execute(connection, "SELECT url FROM nodes WHERE url <> '' ORDER BY name").scalars())
