"""Where the nodes of an arena take clients, for pages that have to name them: looked up now and then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from arena.store.nodes import list_nodes
from arena.store.postgres_database import PostgresDatabase
from arena.store.store import Reader
from protocol.errors import ArenaFault

EVERY = 2.0
"""Seconds."""


class NodeUrls:
    """Those of an arena's nodes that ever were; none where the database is a file."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._urls: list[str] = []
        self._looked = -EVERY if isinstance(reader.database, PostgresDatabase) else float("inf")

    async def all(self) -> Sequence[str]:
        """What they are, or were when the database was there last."""
        now = time.monotonic()
        if now - self._looked > EVERY:
            self._looked = now
            try:
                self._urls = await asyncio.to_thread(self._look)
            except ArenaFault:
                return self._urls
        return self._urls

    def _look(self) -> list[str]:
        return [node.url for node in self._reader.read(list_nodes) if node.url]
