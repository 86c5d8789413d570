"""What one node changes and others have to know at once: told by the database itself, with the change or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from arena.store.dialect import execute, is_postgresql

Kind = Literal["bots", "ratings", "called", "leaving"]
CHANNEL = "arena"
MOST_NAMES = 100
"""In one announcement, of which PostgreSQL takes 8000 bytes."""


class Announcement(Struct, frozen=True, array_like=True):
    """Something has changed: with `bots` of these names (folded), with `ratings`; or bots are `called` to a node at
    `url`, or `leaving`: they lose their matches under way.
    """

    kind: Kind
    names: list[str] = []
    url: str = ""


def announce(connection: Connection, kind: Kind, names: Iterable[str] = (), url: str = "") -> None:
    """Tell all nodes, once what is done over this connection is committed. On SQLite there are none."""
    if not is_postgresql(connection):
        return
    told = list(names)
    for at in range(0, len(told) or 1, MOST_NAMES):
        text = msgspec.json.encode(Announcement(kind, told[at : at + MOST_NAMES], url)).decode()
        execute(connection, "SELECT pg_notify(:channel, :text)", {"channel": CHANNEL, "text": text})
