"""When bots came and left, noted in the store: many of them in one write, so that whoever comes often costs no more."""

from __future__ import annotations

import asyncio
import logging

from arena.store.archive import Archive
from machine.times import utc
from protocol.errors import ArenaFault
from protocol.names import folded

WRITE_EVERY = 5.0
"""Seconds that a sighting waits for others at most."""

log = logging.getLogger("arena.server.sightings")


class Sightings:
    """Notes when bots were seen last: at the latest when it is closed."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._seen: dict[str, str] = {}
        """By folded name, what is not written yet."""
        self._writing: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    def saw(self, bot: str) -> None:
        """A bot came, or left, just now."""
        self._seen[folded(bot)] = utc()
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def close(self) -> None:
        """Write what is not written yet."""
        self._hurry.set()
        if self._writing is not None:
            await self._writing

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
            await self._archive.ask(self._archive.store.saw, seen)
        except ArenaFault as fault:
            log.warning("when bots were seen last can't be noted: %s", fault)
        except Exception:
            log.exception("when bots were seen last can't be noted")
