"""The URLs of an arena's nodes, cached for the pages that name them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence

from arena.store.nodes import node_urls
from arena.store.postgres_database import PostgresDatabase
from arena.store.store import Reader
from protocol.errors import ArenaFault

CACHE_TTL_S = 2.0
"""Seconds for which the URLs of the nodes are cached."""


class NodeUrls:
    """The URLs of all nodes that an arena ever had. There are none if the database is a file."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._urls: list[str] = []
        self._looked = -CACHE_TTL_S if isinstance(reader.database, PostgresDatabase) else float("inf")
        self._looking = asyncio.Lock()

    async def all(self) -> Sequence[str]:
        """Return the URLs, or the last known ones if the database does not answer."""
        async with self._looking:
            if time.monotonic() - self._looked > CACHE_TTL_S:
                with contextlib.suppress(ArenaFault):
                    self._urls = await asyncio.to_thread(self._reader.read, node_urls)
                self._looked = time.monotonic()
        return self._urls
