"""The one writer of the store: a thread of its own, finished matches in batches, in the order they are rated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from arena.referee.result import Ratings
from arena.store.finishing import Finished
from arena.store.store import Store

T = TypeVar("T")
MOST_IN_A_BATCH = 64


class Archive:
    """The store, from the event loop. `finish` returns when the match's transaction is on disk."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, "store")
        self._waiting: list[tuple[Finished, asyncio.Future[Ratings | None]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def ask(self, query: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run a method of the store in its thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: query(*args, **kwargs))

    @property
    def store(self) -> Store:
        """For `ask`: its methods are called in its thread only."""
        return self._store

    def finish(self, finished: Finished) -> asyncio.Future[Ratings | None]:
        """Store and rate a match, with whatever else is waiting. The future fails with the store's fault."""
        future: asyncio.Future[Ratings | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((finished, future))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return future

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST_IN_A_BATCH], self._waiting[MOST_IN_A_BATCH:]
            try:
                rated = await self.ask(self._store.finish, [finished for finished, _ in batch])
            except Exception as exc:  # what waits behind it fails too: nothing is rated out of its order
                failed, self._waiting = batch + self._waiting, []
                for _, future in failed:
                    if not future.done():
                        future.set_exception(exc)
                continue
            for (_, future), ratings in zip(batch, rated, strict=True):
                if not future.done():
                    future.set_result(ratings)
        self._writing = None

    async def drain(self) -> None:
        """Write what waits. The store stays open, for whoever opened it."""
        if self._writing is not None:
            await self._writing
        self._thread.shutdown()
