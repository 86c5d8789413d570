"""Who was never here: names that seeks want to play against, looked up in the store beside the play."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from arena.store.async_store import AsyncStore
from arena.store.registry import is_known_bot
from protocol.errors import ArenaFault

MOST = 1000
"""Names that are remembered."""
AT_ONCE = 16
"""Names that are looked up at a time; what else is asked meanwhile is taken for known."""

log = logging.getLogger("arena.server.unknown_names")


class UnknownNames:
    """Of the names that were asked about, those that the store does not know."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._unknown: dict[str, None] = {}
        self._asking: set[asyncio.Task[None]] = set()

    def ask(self, names: Iterable[str]) -> None:
        """Find out about names; it takes a moment."""
        for name in names:
            if len(self._asking) < AT_ONCE and name not in self._unknown:
                task = asyncio.create_task(self._ask(name))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)

    def met(self, name: str) -> None:
        """A bot is here."""
        self._unknown.pop(name, None)

    def of(self, names: Iterable[str]) -> list[str]:
        """Those of the names under which nobody was ever here."""
        return sorted(name for name in names if name in self._unknown)

    async def _ask(self, name: str) -> None:
        try:
            known = await self._store.read(is_known_bot, name)
        except ArenaFault as fault:
            log.warning("whether %s was ever here can't be looked up: %s", name, fault)
            return
        if not known:
            self._unknown[name] = None
            if len(self._unknown) > MOST:
                del self._unknown[next(iter(self._unknown))]
