"""Results stored, and so rated, in the order of the schedule, and told before that."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterable
from functools import partial

from arena.server.settling import Ended
from arena.store.archive import Archive
from arena.store.finishing import Finished
from referee.result import Ratings, Result


class InOrder:
    """Hands finished matches to the archive in the order of the schedule, whatever finished first.

    `stored` are the places that need no more. After a match that could not be stored, of which `failed` is told,
    nothing is handed on.
    """

    def __init__(self, archive: Archive, stored: Iterable[int], failed: Callable[[BaseException], None]) -> None:
        self._archive = archive
        self._stored = set(stored)
        self._failed = failed
        self._broken = False
        self._next = 0
        self._early: list[tuple[int, Finished, asyncio.Future[Ratings | None]]] = []

    def __call__(self, finished: Finished) -> asyncio.Future[Ratings | None]:
        """Store `finished` when every match before it is stored."""
        place = finished.result.place
        assert place is not None
        future: asyncio.Future[Ratings | None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._early, (place, finished, future))
        while not self._broken and self._early and self._early[0][0] == self._due():
            _, ready, promised = heapq.heappop(self._early)
            self._next += 1
            self._archive.finish(ready).add_done_callback(partial(self._hand_on, promised))
        return future

    def _due(self) -> int:
        while self._next in self._stored:
            self._next += 1
        return self._next

    def _hand_on(self, to: asyncio.Future[Ratings | None], stored: asyncio.Future[Ratings | None]) -> None:
        fault = None if stored.cancelled() else stored.exception()
        if fault is not None:
            self._broken = True
            self._failed(fault)
        if to.done() or stored.cancelled():
            return
        if fault is None:
            to.set_result(stored.result())
        else:
            to.set_exception(fault)

    def abandon(self) -> None:
        """Forget what still waits for a match before it: it will be played again."""
        for _, _, future in self._early:
            future.cancel()


class TellFirst:
    """Everyone is told the end at once, without ratings, which may have to wait for other matches; then `told` is."""

    def __init__(self, store: InOrder, told: Callable[[Result], None]) -> None:
        self._store = store
        self._told = told

    async def __call__(self, ended: Ended) -> None:
        storing = self._store(ended.finished)
        ended.tell(None)
        self._told(ended.result)
        await ended.stored(storing)
