"""The nodes of an arena: which there are, which of them are alive by the database's clock, and the matches under way on
each. There are several on PostgreSQL alone, and all here is said as it has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, select

from arena.store.actions import note_action
from arena.store.dialect import execute, is_postgresql
from arena.store.retention_clock import NOW
from arena.store.schema import bots
from protocol.errors import UsageFault
from protocol.names import folded

ALIVE_S = 6
"""A node that was not seen for so many seconds counts as gone: others pair its games."""
_CLOCK = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
_SINCE = _CLOCK.format(f"(clock_timestamp() - interval '{ALIVE_S} s')")
IS_ALIVE = f"coalesce(nodes.seen > {_SINCE}, false)"
"""Whether a node is alive, in SQL."""
_LIST = f"""SELECT nodes.*, {IS_ALIVE} AS alive,
    (SELECT count(*) FROM under_way WHERE under_way.node = nodes.id) AS matches
FROM nodes WHERE url <> '' ORDER BY name"""
_ALIVE = f"SELECT name FROM nodes WHERE seen > {_SINCE} ORDER BY name"
_ELSEWHERE = """SELECT DISTINCT nodes.url FROM under_way JOIN nodes ON nodes.id = under_way.node
WHERE strpos(under_way.bots, :bot) > 0 AND nodes.id <> :node ORDER BY nodes.url"""

_PLAYS_AT = """SELECT DISTINCT nodes.name FROM under_way JOIN nodes ON nodes.id = under_way.node
WHERE strpos(under_way.bots, :bot) > 0 ORDER BY nodes.name"""


State = Literal["alive", "draining", "stopped", "gone"]


class Node(Struct, frozen=True, kw_only=True):
    """A node: where clients connect to it, when it was seen last (None: it left), whether it is `alive` and takes new
    matches, and how many are under way there.
    """

    name: str
    url: str
    seen: str | None
    alive: bool
    draining: bool
    matches: int

    @property
    def state(self) -> State:
        """`stopped`: it left in order; `gone`: it did not, and is not seen any more."""
        if self.alive:
            return "draining" if self.draining else "alive"
        return "stopped" if self.seen is None else "gone"


class UnderWay(NamedTuple):
    """A match that has begun on a node, by its number, and is not stored: the header of its record (JSON), the secret
    seed (hex), and who plays.
    """

    node: int
    match: str
    header: str
    secret: str
    bots: Sequence[str]


def beat(connection: Connection, node: int, url: str, echo: str | None = None) -> list[Node]:
    """This node is here, at a URL; all nodes. Once that is committed it is sent over the channel `echo`, if any."""
    told = "" if echo is None else "RETURNING pg_notify(:echo, '')"  # in one statement, as the server may be far away
    statement = f"UPDATE nodes SET seen = {NOW}, url = :url WHERE id = :node {told}"
    execute(connection, statement, {"node": node, "url": url, "echo": echo})
    return list_nodes(connection)


def leave(connection: Connection, node: int) -> None:
    """This node ends in order."""
    execute(connection, "UPDATE nodes SET seen = NULL WHERE id = :node", {"node": node})


def forget(connection: Connection, name: str, by: str) -> None:
    """A node with no match under way is given up by somebody: listed no more, until it comes again. Its row stays, as
    what it played refers to that.
    """
    statement = """UPDATE nodes SET seen = NULL, url = ''
    WHERE name = :name AND NOT EXISTS (SELECT 1 FROM under_way WHERE under_way.node = nodes.id)"""
    execute(connection, statement, {"name": name})
    note_action(connection, by, "lost_node", [name])


def list_nodes(connection: Connection) -> list[Node]:
    """All nodes there ever were and that are not given up, by name."""
    rows = execute(connection, _LIST)
    return [Node(**{name: getattr(row, name) for name in Node.__struct_fields__}) for row in rows]


def nodes_alive(connection: Connection) -> list[str]:
    """The names of those that are alive; of an older schema's, too."""
    if execute(connection, "SELECT to_regclass('nodes')").scalar() is None:
        return []
    return list(execute(connection, _ALIVE).scalars())


def drain_node(connection: Connection, name: str, by: str, *, undo: bool = False) -> None:
    """Somebody has a node take no new matches, or take them again. Raises `UsageFault`."""
    words = {"name": name, "draining": not undo}
    if execute(connection, "UPDATE nodes SET draining = :draining WHERE name = :name", words).rowcount != 1:
        raise UsageFault(f"there is no node {name!r}: `arena node list` names them")
    note_action(connection, by, "undo_drain_node" if undo else "drain_node", [name])


class BotGone(UsageFault):
    """A match can't begin, as a bot of it was renamed or deleted a moment ago."""

    def __init__(self, bot: str) -> None:
        super().__init__(f"no match begins, as {bot} was renamed or deleted a moment ago")


def begin_matches(connection: Connection, begun: Sequence[UnderWay]) -> dict[str, BotGone]:
    """Note matches that are about to begin, or go on, maybe on another node than before: by match, why some can't.

    Whoever renames or deletes a bot looks here first, so one of the two always sees the other.
    """
    names = {folded(bot): bot for one in begun for bot in one.bots}
    known = set(connection.execute(select(bots.c.key).where(bots.c.key.in_(names))).scalars())
    gone = {one.match: BotGone(bot) for one in begun for bot in one.bots if folded(bot) not in known}
    begun = [one for one in begun if one.match not in gone]
    if not begun:
        return gone
    statement = """INSERT INTO under_way (match, node, header, secret, bots)
    VALUES (:match, :node, :header, :secret, :bots) ON CONFLICT (match) DO UPDATE SET node = excluded.node"""
    execute(connection, statement, [{**one._asdict(), "bots": _words(one.bots)} for one in begun])
    return gone


def _words(bots: Sequence[str]) -> str:
    return f" {' '.join(map(folded, bots))} "


def end_matches(connection: Connection, matches: Sequence[str]) -> None:
    """These matches are stored, or will not be."""
    ids = {"ids": msgspec.json.encode(matches).decode()}
    execute(connection, "DELETE FROM under_way WHERE match IN (SELECT value FROM json_each(:ids) AS told)", ids)


def matches_of(connection: Connection, name: str) -> list[UnderWay]:
    """The matches under way on a node, by its name."""
    query = """SELECT node, match, header, secret, bots FROM under_way JOIN nodes ON nodes.id = under_way.node
    WHERE nodes.name = :name ORDER BY match"""
    rows = execute(connection, query, {"name": name})
    return [UnderWay(row.node, row.match, row.header, row.secret, row.bots.split()) for row in rows]


def url_of_match(connection: Connection, match: str) -> str | None:
    """Where a match is under way, if it is."""
    query = "SELECT url FROM under_way JOIN nodes ON nodes.id = under_way.node WHERE match = :match"
    url: str | None = execute(connection, query, {"match": match}).scalar()
    return url


def urls_of_bot(connection: Connection, node: int, bot: str) -> list[str]:
    """Where else than on a node a bot has matches under way."""
    found = execute(connection, _ELSEWHERE, {"bot": _words([bot]), "node": node})
    return list(found.scalars())


def nodes_of_bot(connection: Connection, bot: str) -> list[str]:
    """Return the names of the nodes on which a bot has matches under way; none on SQLite, where one server knows."""
    if not is_postgresql(connection):
        return []
    return list(execute(connection, _PLAYS_AT, {"bot": _words([bot])}).scalars())


def node_urls(connection: Connection) -> list[str]:
    """Where clients connect to the nodes that `list_nodes` names."""
    return list(execute(connection, "SELECT url FROM nodes WHERE url <> '' ORDER BY name").scalars())
