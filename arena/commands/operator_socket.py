"""The operator's way into a server: a socket of its own on this machine, named in the data folder."""

from __future__ import annotations

from pathlib import Path

from arena.network.binding import bound, port_of
from arena.operator import credentials
from arena.server.arena import Arena

HOST = "127.0.0.1"
ADDRESS = "the operator"
"""What whoever comes in there counts as."""


async def let_operate(arena: Arena, data: Path, token: str, database: Path, public: str) -> None:
    """Take the operator's connections; say in the data folder where, and where others come in. Raises `ArenaFault`."""
    (listening,) = bound(HOST, 0)
    url = f"ws://{HOST}:{port_of([listening])}"
    await arena.host.take(listening, ADDRESS, operators=True)
    credentials.write(data, token, url, database, public)
