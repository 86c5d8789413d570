"""Where the nodes of an arena take clients, for pages that have to name them: looked up now and then."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence

from arena.store.nodes import node_urls
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
        self._looking = asyncio.Lock()

    async def all(self) -> Sequence[str]:
        """What they are, or were when the database was there last."""
        async with self._looking:
            if time.monotonic() - self._looked > EVERY:
                with contextlib.suppress(ArenaFault):
                    self._urls = await asyncio.to_thread(self._reader.read, node_urls)
                self._looked = time.monotonic()
        return self._urls
