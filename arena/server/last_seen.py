"""Who is here, and when bots were: noted in the store, many in one write, so that whoever comes often costs no more."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable

from arena.store.async_store import AsyncStore
from arena.store.registry import update_last_seen
from machine.timestamps import utc
from protocol.errors import ArenaFault
from protocol.names import folded

WRITE_EVERY = 5.0
"""Seconds that a sighting waits for others at most."""

STILL_HERE = 3600.0
"""Seconds after which those that are here are noted again: also a server that is killed knows who was here of late."""

log = logging.getLogger("arena.server.last_seen")


class LastSeen:
    """Notes when bots were seen last: at the latest when it is closed."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._seen: dict[str, str] = {}
        """By folded name, what is not written yet."""
        self._here: Counter[str] = Counter()
        """By folded name, how many connections a bot has: an older one ends after the newer came."""
        self._again: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    def came(self, bot: str) -> None:
        """A connection of a bot began."""
        name = folded(bot)
        self._here[name] += 1
        self._saw([name])
        if self._again is None:
            self._note_again()

    def left(self, bot: str) -> None:
        """One of them ended."""
        name = folded(bot)
        self._here[name] -= 1
        if not self._here[name]:
            del self._here[name]
        self._saw([name])

    def here(self, bot: str) -> bool:
        """Whether a bot has a connection."""
        return folded(bot) in self._here

    async def close(self) -> None:
        """Write what is not written yet."""
        if self._again is not None:
            self._again.cancel()
        self._hurry.set()
        if self._writing is not None:
            await self._writing

    def _note_again(self) -> None:
        self._saw(self._here)
        self._again = asyncio.get_running_loop().call_later(STILL_HERE, self._note_again)

    def _saw(self, bots: Iterable[str]) -> None:
        self._seen.update(dict.fromkeys(bots, utc()))
        if self._seen and self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._seen:
                await self._write_once()
        finally:
            self._writing = None

    async def _write_once(self) -> None:
        try:
            async with asyncio.timeout(WRITE_EVERY):
                await self._hurry.wait()
        except TimeoutError:
            pass
        seen, self._seen = self._seen, {}
        try:
            await self._store.write(update_last_seen, seen)
        except ArenaFault as fault:
            log.warning("when bots were seen last can't be noted: %s", fault)
        except Exception:
            log.exception("when bots were seen last can't be noted")
