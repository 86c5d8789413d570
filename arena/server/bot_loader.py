"""Reads from the store what the lobby has to know of bots."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from arena.lobby.events import BotLoaded, RatingsReloaded
from arena.lobby.known_bots import KnownBots
from arena.store.async_store import AsyncStore
from arena.store.registry import is_known_bot
from arena.store.result_queries import LadderBot, load_ladder_bot
from machine.timestamps import parse_timestamp
from protocol.names import fold_name


class BotLoader:
    """Reads bots' ratings and past matches as events for the lobby. `known_bots` says what it knows already."""

    def __init__(self, store: AsyncStore, known_bots: KnownBots) -> None:
        self._store = store
        self._known_bots = known_bots
        self._loop = asyncio.get_running_loop()
        self._reloading = asyncio.Lock()
        self._requested_reload = self._done_reload = 0
        """`_requested_reload` counts the reloads that were requested, `_done_reload` those that are done."""

    async def load(self, bot: str) -> BotLoaded:
        """Read a bot's ratings and approval, and the first time its past matches. Raise `StoreError` if that fails."""
        name = fold_name(bot)
        while True:
            with_history = not self._known_bots.has_history(name)
            found = await self._store.read(load_ladder_bot, bot, history=with_history)
            if with_history or self._known_bots.has_history(name):  # else it was forgotten meanwhile
                rated = self._rated_matches_of(found)
                return BotLoaded(name, found.ratings, found.approved, with_history, found.encounters, rated)

    async def reload(self) -> AsyncIterator[RatingsReloaded]:
        """Read the ratings and rated matches of all known bots again, after a change in the store. Raise `StoreError`
        if reading fails.

        Only one reload runs at a time. It serves all calls made before it began.
        """
        self._requested_reload += 1
        asked = self._requested_reload
        async with self._reloading:
            if self._done_reload >= asked:
                return
            doing = self._requested_reload
            for bot in self._known_bots.bots_with_history():
                found = await self._store.read(load_ladder_bot, bot, history=True)
                yield RatingsReloaded(bot, found.ratings, self._rated_matches_of(found))
            self._done_reload = doing

    async def is_registered(self, name: str) -> bool:
        """Return whether a name is registered. Raise `StoreError` if that can't be read."""
        return await self._store.read(is_known_bot, name)

    def _rated_matches_of(self, bot: LadderBot) -> list[tuple[str, str, str, float]]:
        """Return a bot's recent rated matches with their ends in seconds of the event loop's clock."""
        ahead_s = time.time() - self._loop.time()
        return [
            (match, pool, other, parse_timestamp(finished) - ahead_s) for match, pool, other, finished in bot.meetings
        ]
