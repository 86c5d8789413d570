"""What the arena tells its feed: every match, and the leaderboards as results change them."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from arena.store.async_store import AsyncStore
from arena.store.result_queries import leaderboard_of, rated_pools
from machine.event_loop import Tasks
from protocol.errors import Fault
from protocol.messages import End, FromServer, Start, Turn

if TYPE_CHECKING:
    from arena.feed import Feed

BOARD_EVERY = 0.5
"""The leaderboard in the feed follows results at most this often, in seconds."""

log = logging.getLogger("arena.server.feed_publisher")


class FeedPublisher:
    """Reports matches to the feed, and reads the leaderboards for it."""

    def __init__(self, feed: Feed, store: AsyncStore) -> None:
        self._feed = feed
        self._store = store
        self._due: dict[str, asyncio.TimerHandle] = {}
        self._tasks = Tasks()
        self._loop = asyncio.get_running_loop()

    def report(self, message: FromServer) -> None:
        """Publish what is shown of a match."""
        if isinstance(message, Turn):
            self._feed.turned(message)
        elif isinstance(message, Start):
            self._feed.started(message)
        elif isinstance(message, End):
            self._feed.ended(message)

    def rated(self, pool: str) -> None:
        """Publish a pool's leaderboard soon, as it has changed."""
        if pool not in self._due:
            self._due[pool] = self._loop.call_later(BOARD_EVERY, self._publish_soon, pool)

    async def publish_boards(self) -> None:
        """Publish the leaderboard of every pool with rated matches: a broker may have forgotten them."""
        for pool in await self._store.read(rated_pools):
            await self._publish(pool)

    async def close(self) -> None:
        """Publish the leaderboards that are due, now."""
        await self._tasks.wait()
        while self._due:
            pool, timer = self._due.popitem()
            timer.cancel()
            await self._publish(pool)

    def _publish_soon(self, pool: str) -> None:
        del self._due[pool]
        self._tasks.begin(self._publish(pool))

    async def _publish(self, pool: str) -> None:
        try:
            rows = await self._store.read(leaderboard_of, pool)
        except Fault as fault:
            log.error("the leaderboard of %s can't be read, and is not published: %s", pool, fault)
            return
        self._feed.leaderboard(pool, rows)
