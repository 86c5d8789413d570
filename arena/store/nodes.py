"""The nodes of an arena: which there are, which of them are alive by the database's clock, and the matches under way on
each. There are several on PostgreSQL alone, and all here is said as it has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from arena.store.dialect import execute
from protocol.errors import UsageFault
from protocol.names import folded

ALIVE_S = 6
"""A node that was not seen for so many seconds counts as gone: others pair its games."""
_CLOCK = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
_NOW = _CLOCK.format("clock_timestamp()")
_SINCE = _CLOCK.format(f"(clock_timestamp() - interval '{ALIVE_S} s')")
_ENROL = f"""INSERT INTO nodes (name, url, seen) VALUES (:name, :url, {_NOW})
ON CONFLICT (name) DO UPDATE SET url = excluded.url, seen = excluded.seen RETURNING id"""
_LIST = f"""SELECT nodes.*, coalesce(seen > {_SINCE}, false) AS alive,
    (SELECT count(*) FROM under_way WHERE under_way.node = nodes.id) AS matches
FROM nodes ORDER BY name"""
_ELSEWHERE = """SELECT DISTINCT nodes.url FROM under_way JOIN nodes ON nodes.id = under_way.node
WHERE under_way.bots LIKE :bot AND nodes.id <> :node ORDER BY nodes.url"""


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


class UnderWay(NamedTuple):
    """A match that has begun and is not stored: its id, the header of its record (JSON), and the secret seed (hex)."""

    match: str
    header: str
    secret: str
    bots: Sequence[str] = ()


def enrol(connection: Connection, name: str, url: str) -> int:
    """This node is here, at a URL; its number."""
    return int(execute(connection, _ENROL, {"name": name, "url": url}).scalar_one())


def beat(connection: Connection, node: int) -> list[Node]:
    """This node is still here; all nodes."""
    execute(connection, f"UPDATE nodes SET seen = {_NOW} WHERE id = :node", {"node": node})
    return list_nodes(connection)


def leave(connection: Connection, node: int) -> None:
    """This node ends in order."""
    execute(connection, "UPDATE nodes SET seen = NULL WHERE id = :node", {"node": node})


def list_nodes(connection: Connection) -> list[Node]:
    """All nodes there ever were, by name."""
    rows = execute(connection, _LIST)
    return [Node(**{name: getattr(row, name) for name in Node.__struct_fields__}) for row in rows]


def drain_node(connection: Connection, name: str, *, undo: bool = False) -> None:
    """Have a node take no new matches, or take them again. Raises `UsageFault`."""
    words = {"name": name, "draining": not undo}
    if execute(connection, "UPDATE nodes SET draining = :draining WHERE name = :name", words).rowcount != 1:
        raise UsageFault(f"there is no node {name!r}: `arena node list` names them")


def begin_matches(connection: Connection, node: int, begun: Sequence[UnderWay]) -> None:
    """Note matches that are about to begin on a node."""
    statement = """INSERT INTO under_way (match, node, header, secret, bots)
    VALUES (:match, :node, :header, :secret, :bots) ON CONFLICT (match) DO NOTHING"""
    execute(connection, statement, [_row(node, one) for one in begun])


def _row(node: int, one: UnderWay) -> dict[str, object]:
    return {**one._asdict(), "node": node, "bots": f" {' '.join(map(folded, one.bots))} "}


def end_matches(connection: Connection, matches: Sequence[str]) -> None:
    """These matches are stored, or will not be."""
    ids = {"ids": msgspec.json.encode(matches).decode()}
    execute(connection, "DELETE FROM under_way WHERE match IN (SELECT value FROM json_each(:ids) AS told)", ids)


def matches_of(connection: Connection, name: str) -> list[UnderWay]:
    """The matches under way on a node, by its name."""
    query = """SELECT match, header, secret FROM under_way JOIN nodes ON nodes.id = under_way.node
    WHERE nodes.name = :name ORDER BY match"""
    return [UnderWay(*row) for row in execute(connection, query, {"name": name})]


def urls_of_bot(connection: Connection, node: int, bot: str) -> list[str]:
    """Where else than on a node a bot has matches under way."""
    found = execute(connection, _ELSEWHERE, {"bot": f"% {folded(bot)} %", "node": node})
    return list(found.scalars())
