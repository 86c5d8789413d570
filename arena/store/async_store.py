"""The one writer of the store: a thread of its own, finished matches in batches, in the order they are rated."""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlalchemy import Connection

from arena.store.database import StoreUnavailable
from arena.store.finish import StorableMatch, finish_matches
from arena.store.node_store import NodeTaken
from arena.store.nodes import BotGone, UnderWay, begin_matches
from arena.store.store import Store
from machine.backoff import Backoff
from machine.histogram import Histogram
from machine.log_output import about
from protocol.errors import Fault
from referee.result import Ratings

T = TypeVar("T")
P = ParamSpec("P")
MAX_BATCH = 16
"""Some 20 ms of the thread's time."""
MAX_PENDING_QUERIES = 2
"""Queries that are in the thread's queue: whoever asks much waits here, and finished matches go before."""
RETRY_DELAY, MAX_RETRY_DELAY = 0.5, 5.0
"""Seconds until the store is tried again: at first, and after many failures."""
DEFER_SECONDS, MAX_DEFER_SECONDS = 10.0, 600.0
"""The same for a match that the store does not take while it takes others."""
COMMIT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Bounds between which times of transactions are counted."""

log = logging.getLogger("arena.store.async_store")


class _Beginning(NamedTuple):
    match: UnderWay
    future: asyncio.Future[None]


class _QueuedMatch(NamedTuple):
    finished: StorableMatch
    future: asyncio.Future[Ratings | None]
    backoff: Backoff
    turn: int = 0


class AsyncStore:
    """The store, from the event loop. `finish` returns when the match's transaction is on disk.

    What can't be stored is tried again until it can, or until `hurry`. A match that the store does not take while it
    takes others waits apart. Bots have their turns one after the other: who finishes many matches at once is in
    nobody's way but its own.
    """

    def __init__(self, store: Store) -> None:
        self.troubled: Callable[[str | None], None] = lambda reason: None
        """Is told why nothing can be stored, and None when it can be."""
        self._store = store
        self.node = store.node
        """As the store has it."""
        self._thread = ThreadPoolExecutor(1, "store")
        self._beside = ThreadPoolExecutor(1, "store beside")
        self._asking = asyncio.Semaphore(MAX_PENDING_QUERIES)
        self._beginning: list[_Beginning] = []
        self._waiting: list[_QueuedMatch] = []
        """By their turns."""
        self._turn = 0
        """That of the match which is written now, or of the last in its batch."""
        self._turns: dict[str, int] = {}
        """The last that each bot has taken."""
        self._aside: dict[asyncio.TimerHandle, _QueuedMatch] = {}
        self._writing: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self.commits = Histogram(COMMIT_SECONDS)
        """What transactions took that begin and finish matches, in seconds, with those that failed."""
        self.failures = 0
        """How many of them failed."""

    @property
    def waiting(self) -> int:
        """How many finished matches are not stored yet, beside those that are `set_aside`."""
        return len(self._waiting)

    @property
    def set_aside(self) -> int:
        """How many finished matches wait because the store does not take them while it takes others."""
        return len(self._aside)

    @property
    def beginning(self) -> int:
        """How many matches wait to be noted before they begin."""
        return len(self._beginning)

    async def read(self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """As `Store.read`, in the store's thread."""
        async with self._asking:
            return await self._run(partial(self._store.read, query, *args, **kwargs))

    async def read_beside(
        self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The same in a thread of its own, for a query that would hold up others."""
        ask = partial(self._store.read, query, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._beside, ask)

    async def write(self, change: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """As `Store.write`, in the store's thread."""
        async with self._asking:
            return await self._run(partial(self._store.write, change, *args, **kwargs))

    async def write_first(
        self, change: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The same before all who wait for their turn to ask."""
        return await self._run(partial(self._store.write, change, *args, **kwargs))

    async def _run(self, ask: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, ask)

    def finish(self, finished: StorableMatch) -> asyncio.Future[Ratings | None]:
        """Store and rate a match, with whatever else is waiting.

        The future fails with the store's fault when there is no time to try again, and with any error that is no fault.
        """
        future: asyncio.Future[Ratings | None] = asyncio.get_running_loop().create_future()
        self._defer(_QueuedMatch(finished, future, Backoff(DEFER_SECONDS, MAX_DEFER_SECONDS)))
        return future

    def begin(self, match: UnderWay) -> asyncio.Future[None]:
        """Note that a match is about to begin, with whatever else is waiting: done when that is on disk.

        The future is cancelled when there is no time to try again. It fails with `BotGone` where a bot of the match was
        renamed or deleted on another node: then it does not begin.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._beginning.append(_Beginning(match, future))
        self._begin_writing()
        return future

    def stop_retrying(self) -> None:
        """Try once more what waits, and from now on nothing twice: the process is about to end."""
        self._hurry.set()
        self._store.hurry()
        for timer, one in list(self._aside.items()):
            timer.cancel()
            self._requeue(timer, one)

    async def drain(self) -> None:
        """Write what waits. The store stays open, for whoever opened it."""
        self.stop_retrying()
        if self._writing is not None:
            await self._writing
        self._thread.shutdown()
        self._beside.shutdown()

    def _defer(self, one: _QueuedMatch) -> None:
        """Have a match wait for the next turn that none of its bots has taken, behind all that is written now."""
        bots = [seat.bot for seat in one.finished.result.seats]
        turn = 1 + max(self._turn, *(self._turns.get(bot, 0) for bot in bots))
        self._turns |= dict.fromkeys(bots, turn)
        bisect.insort(self._waiting, one._replace(turn=turn), key=lambda waiting: waiting.turn)
        self._begin_writing()

    def _begin_writing(self) -> None:
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        backoff = Backoff(RETRY_DELAY, MAX_RETRY_DELAY)
        suspects = 0
        beginnings_alone = False
        while self._waiting or self._beginning:
            begun = [] if suspects and beginnings_alone and self._waiting else list(self._beginning)
            batch = [] if begun and suspects else self._waiting[: 1 if suspects else MAX_BATCH]
            beginnings_alone = not batch
            self._turn = batch[-1].turn if batch else self._turn
            beginning, over = [one.match for one in begun], [one.finished for one in batch]
            at = time.perf_counter()
            try:
                gone, rated = await self._run(partial(self._store.write, _begin_and_finish, beginning, over, self.node))
            except Exception as exc:
                self.failures += 1
                if isinstance(exc, (StoreUnavailable, NodeTaken)):
                    await self._pause(exc, backoff)
                elif not batch:
                    self._begin_all_the_same(begun, exc)
                elif begun or len(batch) > 1:
                    suspects = len(batch)  # each is tried alone
                else:
                    self._is_rejected(exc)
                    suspects = 0
                continue
            finally:
                self.commits.observe(time.perf_counter() - at)
            suspects = max(0, suspects - len(rated))
            del self._waiting[: len(rated)]
            del self._beginning[: len(begun)]
            backoff.reset()
            self.troubled(None)
            for noted in begun:
                fault = gone.get(noted.match.match)
                if noted.future.done():
                    continue
                if fault is None:
                    noted.future.set_result(None)
                else:
                    noted.future.set_exception(fault)
            for one, ratings in zip(batch, rated, strict=False):
                if not one.future.done():
                    one.future.set_result(ratings)
        self._turn = 0
        self._turns.clear()
        self._writing = None

    def _begin_all_the_same(self, begun: list[_Beginning], exc: Exception) -> None:
        """The store does not take what it was told of matches that begin: they can't be called off if they are lost."""
        matches = ", ".join(one.match.match for one in begun)
        log.error("of matches that begin (%s) can't be noted that they do: %s", matches, exc)
        del self._beginning[: len(begun)]
        for one in begun:
            if not one.future.done():
                one.future.set_result(None)

    async def _pause(self, exc: Exception, backoff: Backoff) -> None:
        """Wait before the store is tried again, which fails if there is no time."""
        if self._hurry.is_set():
            self._fail(self._waiting, exc)
            for one in self._beginning:
                one.future.cancel()
            self._waiting, self._beginning = [], []
            return
        self.troubled(f"results can't be stored: {exc}")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), backoff.delay())

    def _is_rejected(self, exc: Exception) -> None:
        """The store takes others, but not the one that comes first."""
        one = self._waiting.pop(0)
        if isinstance(exc, Fault) and not self._hurry.is_set():
            seconds = one.backoff.delay()
            match = one.finished.result.match
            text = "match %s can't be stored, it is tried again in %g s: %s"
            log.error(text, match, seconds, exc, extra=about(match=match))
            loop = asyncio.get_running_loop()
            timer: asyncio.TimerHandle = loop.call_later(seconds, lambda: self._requeue(timer, one))
            self._aside[timer] = one
            return
        self._fail([one], exc)

    def _requeue(self, timer: asyncio.TimerHandle, one: _QueuedMatch) -> None:
        del self._aside[timer]
        self._defer(one)

    def _fail(self, those: list[_QueuedMatch], exc: Exception) -> None:
        for one in those:
            if not one.future.done():
                one.future.set_exception(exc)


def _begin_and_finish(
    connection: Connection, begun: Sequence[UnderWay], over: Sequence[StorableMatch], node: int
) -> tuple[dict[str, BotGone], list[Ratings | None]]:
    """Return by match why some can't begin, and the ratings of those that are over."""
    gone = begin_matches(connection, begun) if begun else {}
    return gone, finish_matches(connection, over, node) if over else []
