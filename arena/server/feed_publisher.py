"""Publishing to the feed of the MQTT broker: each match, changed leaderboards, and `end` messages that the broker has
not acknowledged yet.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from arena.host.broadcast import Reporter
from arena.store.async_store import AsyncStore
from arena.store.feed_position import advance_feed, feed_range, match_ends_between
from arena.store.result_queries import leaderboard_of, rated_pools, record_of
from machine.event_loop import BackgroundTasks
from machine.log_output import log_fields
from protocol.errors import Fault
from protocol.messages import End
from referee import record_reader
from referee.messages import make_end_from_record

if TYPE_CHECKING:
    from arena.feed import Feed

LEADERBOARD_INTERVAL_S = 0.5
"""Seconds from a change of a pool's leaderboard until it is published. Further changes in this time are included."""
SAVE_DELAY_S = 2.0
"""Seconds from the broker's acknowledgement of an `end` message until the acknowledgement is stored. After a crash, the
`end` messages that were acknowledged in this time are published again.
"""
REPUBLISH_BATCH_SIZE = 32
"""The number of `end` messages that are republished together. The next batch follows when the broker has acknowledged
all of them.
"""

log = logging.getLogger("arena.server.feed_publisher")


class FeedPublisher:
    """Publishes matches to the feed, and leaderboards and missing `end` messages, which it reads from the store."""

    def __init__(self, feed: Feed, store: AsyncStore) -> None:
        self._feed = feed
        self.report: Reporter = feed.report
        """The reporter that publishes the messages for a match's spectators."""
        self._store = store
        self._leaderboard_timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks = BackgroundTasks()
        self._loop = asyncio.get_running_loop()
        self._acknowledged: set[str] = set()
        """The ids of matches whose `end` message the broker has acknowledged, until the acknowledgement is stored."""
        self._saving: asyncio.TimerHandle | None = None
        self._unacknowledged_batch: set[str] = set()
        """The ids of matches in the republished batch whose `end` message the broker has not acknowledged yet."""
        self._page_done = asyncio.Event()
        self._needs_catch_up = False
        """True if the broker lacks `end` messages that the feed has not queued. They must be republished."""
        self._reachable = False
        """True once the broker has acknowledged an `end` message since the last start of `_catch_up`."""
        self._catching_up: asyncio.Task[None] | None = None
        self._closing = False
        self._following = asyncio.create_task(self._follow_deliveries())

    def schedule_leaderboard(self, pool: str) -> None:
        """Publish a pool's changed leaderboard after `LEADERBOARD_INTERVAL_S`."""
        if pool not in self._leaderboard_timers:
            self._leaderboard_timers[pool] = self._loop.call_later(LEADERBOARD_INTERVAL_S, self._publish_soon, pool)

    async def start(self) -> None:
        """Publish the `end` messages that the broker lacks, and the leaderboard of every pool with rated matches."""
        self._needs_catch_up = True
        self._catch_up_soon()
        for pool in await self._store.read(rated_pools):
            await self._publish(pool)

    async def close(self) -> None:
        """Publish changed leaderboards, let the feed send what is queued, and store the broker's acknowledgements."""
        self._closing = True
        if self._catching_up is not None:
            self._catching_up.cancel()
        await self._tasks.wait()
        while self._leaderboard_timers:
            pool, timer = self._leaderboard_timers.popitem()
            timer.cancel()
            await self._publish(pool)
        await self._feed.close()
        self._following.cancel()
        while not self._feed.deliveries.empty():
            self._note_delivery(*self._feed.deliveries.get_nowait())
        await self._save()
        await self._tasks.wait()

    def _publish_soon(self, pool: str) -> None:
        del self._leaderboard_timers[pool]
        self._tasks.start(self._publish(pool))

    async def _publish(self, pool: str) -> None:
        try:
            rows = await self._store.read(leaderboard_of, pool)
        except Fault as fault:
            log.error("the leaderboard of %s can't be read, so it is not published: %s", pool, fault)
            return
        self._feed.publish_leaderboard(pool, rows)

    async def _follow_deliveries(self) -> None:
        while True:
            self._note_delivery(*await self._feed.deliveries.get())

    def _note_delivery(self, match: str, is_acknowledged: bool) -> None:
        """Note that the broker has the `end` message of a match, or that the feed was full and dropped the message, so
        that it must be republished.
        """
        self._unacknowledged_batch.discard(match)
        if not self._unacknowledged_batch:
            self._page_done.set()
        if is_acknowledged:
            self._acknowledged.add(match)
            self._reachable = True
            self._save_soon()
            self._catch_up_soon()
        else:
            self._needs_catch_up = True

    def _save_soon(self) -> None:
        if self._saving is None:
            self._saving = self._loop.call_later(SAVE_DELAY_S, lambda: self._tasks.start(self._save()))

    async def _save(self) -> None:
        """Store for which matches the broker has acknowledged the `end` message."""
        if self._saving is not None:
            self._saving.cancel()
            self._saving = None
        named = frozenset(self._acknowledged)
        try:
            again = await self._store.write(advance_feed, named, self._store.node)
        except Fault as fault:
            log.error("the ends that the MQTT broker has can't be marked, so they may be published again: %s", fault)
        else:
            self._acknowledged -= named - again

    def _catch_up_soon(self) -> None:
        if self._needs_catch_up and self._catching_up is None and not self._closing:
            self._needs_catch_up = self._reachable = False
            self._catching_up = self._tasks.start(self._catch_up())

    async def _catch_up(self) -> None:
        """Publish all `end` messages that the broker lacks. Those that the feed has queued may be published twice."""
        try:
            at, last = await self._store.read(feed_range, self._store.node)
            while page := await self._store.read(match_ends_between, at, last, REPUBLISH_BATCH_SIZE, self._store.node):
                at = page[-1][0]
                await self._publish_page([match for _, match in page if match not in self._acknowledged])
        except Fault as fault:
            self._needs_catch_up = True
            log.error("the ends that the MQTT broker does not have can't be read: %s", fault)
        finally:
            self._catching_up = None
        if self._reachable:
            self._catch_up_soon()

    async def _publish_page(self, matches: list[str]) -> None:
        """Republish the `end` messages of these matches, and wait until the broker acknowledges them."""
        self._unacknowledged_batch = set(matches)
        self._page_done.clear()
        for match in matches:
            try:
                self.report(await self._end_of(match))
            except Fault as fault:
                log.error("the end of match %s can't be published: %s", match, fault, extra=log_fields(match=match))
                self._note_delivery(match, is_acknowledged=True)
        if matches:
            await self._page_done.wait()

    async def _end_of(self, match: str) -> End:
        """Return the `end` message of a match, made from its record. Raise a `Fault` if the record cannot be read."""
        data = await self._store.read(record_of, match)
        return await asyncio.to_thread(lambda: make_end_from_record(record_reader.read_record(data or b"", match)))
