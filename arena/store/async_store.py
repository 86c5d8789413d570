"""Asynchronous access to the store. A single thread stores and rates finished matches in batches."""

from __future__ import annotations

import asyncio
import bisect
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlalchemy import Connection

from arena.store.database import StoreUnavailable
from arena.store.finish import StorableMatch, finish_matches, prepare_match
from arena.store.health import Health
from arena.store.node_store import NodeTaken
from arena.store.nodes import BotGone, MatchInProgress, begin_matches
from arena.store.store import Store
from arena.store.stored_match import StoredMatch
from machine.backoff import Backoff
from machine.event_loop import wait_within
from machine.histogram import Histogram
from machine.log_output import log_fields
from protocol.errors import Fault
from referee.footer import ClosedMatch
from referee.result import Result

T = TypeVar("T")
P = ParamSpec("P")
MAX_BATCH_MATCHES = 16
"""The maximum number of matches per transaction. Writing this many takes the thread about 20 ms."""
MAX_PENDING_QUERIES = 2
"""The maximum number of queries in the store thread's queue. Further queries wait outside the queue, so that finished
matches need not wait for them.
"""
RETRY_DELAY_S, MAX_RETRY_DELAY_S = 0.5, 5.0
"""`RETRY_DELAY_S` is the first delay before a failed write is retried, `MAX_RETRY_DELAY_S` the maximum delay."""
REJECTED_RETRY_DELAY_S, MAX_REJECTED_RETRY_DELAY_S = 10.0, 600.0
"""The delays before the next attempt to store a match that the store rejected while it accepted others.
`REJECTED_RETRY_DELAY_S` is the first delay, and `MAX_REJECTED_RETRY_DELAY_S` the maximum.
"""
COMMIT_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper bounds, in seconds, of the buckets in the histogram of transaction times."""

log = logging.getLogger("arena.store.async_store")


class _QueuedStart(NamedTuple):
    match: MatchInProgress
    future: asyncio.Future[None]


class _QueuedMatch(NamedTuple):
    result: Result
    close: Callable[[], ClosedMatch]
    future: asyncio.Future[StoredMatch]
    backoff: Backoff
    turn: int = 0


class AsyncStore:
    """The store, for use from the event loop. The future of `finish` completes when the match's transaction is on disk.

    A failed write is retried until it succeeds or `stop_retrying` is called. A match is set aside if it cannot be
    closed, or if the store rejects it while it accepts others. Matches of different bots are stored in turn: a bot that
    finishes many at once delays only its own.
    """

    def __init__(self, store: Store) -> None:
        self.health = Health()
        """The problems that keep matches from starting. The store adds `store` while it is unavailable."""
        self._store = store
        self.node = store.node
        """The number of this node, as in `Store.node`."""
        self._thread = ThreadPoolExecutor(1, "store")
        self._slow_query_thread = ThreadPoolExecutor(1, "store beside")
        self._query_slots = asyncio.Semaphore(MAX_PENDING_QUERIES)
        self._queued_starts: list[_QueuedStart] = []
        self._queued_matches: list[_QueuedMatch] = []
        """Finished matches that are not stored yet, in the order of their turns. A turn is the number that `_defer`
        gives a match: matches with lower turns are stored first.
        """
        self._turn = 0
        """The turn (see `_queued_matches`) of the last match in the batch that is being written."""
        self._last_turns: dict[str, int] = {}
        """The turn (see `_queued_matches`) of the last match that was queued of each bot."""
        self._set_aside: dict[asyncio.TimerHandle, _QueuedMatch] = {}
        self._writing: asyncio.Task[None] | None = None
        self._is_stopping = asyncio.Event()
        self.commits = Histogram(COMMIT_BUCKETS_S)
        """A histogram of the durations, in seconds, of transactions that begin and finish matches, even failed ones."""
        self.failures = 0
        """The number of transactions in `commits` that failed."""

    @property
    def notifies(self) -> bool:
        """False while notifications of changes cannot be sent. The changes themselves are stored nevertheless."""
        return self._store.notifies

    @property
    def waiting(self) -> int:
        """The number of finished matches that are not stored yet, except those that are `set_aside`."""
        return len(self._queued_matches)

    @property
    def set_aside(self) -> int:
        """The number of finished matches that wait for a retry, because only they were rejected or cannot be closed."""
        return len(self._set_aside)

    @property
    def beginning(self) -> int:
        """The number of new matches that cannot begin yet, because they wait to be registered in the database."""
        return len(self._queued_starts)

    async def read(self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `Store.read` in the store's thread."""
        async with self._query_slots:
            return await self._run(partial(self._store.read, query, *args, **kwargs))

    async def read_slowly(
        self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `Store.read` in a second thread, for a slow query that would delay the queries in the first thread."""
        ask = partial(self._store.read, query, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._slow_query_thread, ask)

    async def write(self, change: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `Store.write` in the store's thread."""
        async with self._query_slots:
            return await self._run(partial(self._store.write, change, *args, **kwargs))

    async def write_first(
        self, change: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `Store.write` in the store's thread, ahead of the queries that wait for a place in its queue."""
        return await self._run(partial(self._store.write, change, *args, **kwargs))

    async def _run(self, ask: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, ask)

    def finish(self, result: Result, close: Callable[[], ClosedMatch]) -> asyncio.Future[StoredMatch]:
        """Queue a finished match to be stored and rated. The future gives the outcome once it is on disk.

        `close` returns the match with its record. The store's thread calls it before each attempt to store the match,
        outside of any transaction. If the process ends before a retry succeeds, the future fails with the last fault.
        If an error is not a fault, the future fails with it at once.
        """
        future: asyncio.Future[StoredMatch] = asyncio.get_running_loop().create_future()
        self._defer(_QueuedMatch(result, close, future, Backoff(REJECTED_RETRY_DELAY_S, MAX_REJECTED_RETRY_DELAY_S)))
        return future

    def begin(self, match: MatchInProgress) -> asyncio.Future[None]:
        """Queue a match to be registered before it begins. The future completes once the registration is on disk.

        The future is cancelled if the process ends before a retry succeeds. It fails with `BotGone` if a bot of the
        match was renamed or deleted; the match must not begin then.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queued_starts.append(_QueuedStart(match, future))
        self._begin_writing()
        return future

    def stop_retrying(self) -> None:
        """Try each queued write only once more, because the process is about to end."""
        self._is_stopping.set()
        self._store.hurry()
        for timer, one in list(self._set_aside.items()):
            timer.cancel()
            self._requeue(timer, one)

    async def drain(self) -> None:
        """Write everything queued, then stop the threads. The store itself stays open."""
        self.stop_retrying()
        if self._writing is not None:
            await self._writing
        self._thread.shutdown()
        self._slow_query_thread.shutdown()

    def _defer(self, queued: _QueuedMatch) -> None:
        """Queue a finished match. Its turn number exceeds by 1 those of its bots and of the batch being written."""
        bots = [seat.bot for seat in queued.result.seats]
        turn = 1 + max(self._turn, *(self._last_turns.get(bot, 0) for bot in bots))
        self._last_turns |= dict.fromkeys(bots, turn)
        bisect.insort(self._queued_matches, queued._replace(turn=turn), key=lambda waiting: waiting.turn)
        self._begin_writing()

    def _begin_writing(self) -> None:
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        backoff = Backoff(RETRY_DELAY_S, MAX_RETRY_DELAY_S)
        suspects = 0
        beginnings_alone = False
        while self._queued_matches or self._queued_starts:
            begun = [] if suspects and beginnings_alone and self._queued_matches else list(self._queued_starts)
            batch = [] if begun and suspects else self._queued_matches[: 1 if suspects else MAX_BATCH_MATCHES]
            beginnings_alone = not batch
            self._turn = batch[-1].turn if batch else self._turn
            at = time.perf_counter()
            try:
                gone, outcomes = await self._run(partial(self._write_batch, [one.match for one in begun], batch))
            except Exception as exc:
                self.failures += 1
                if isinstance(exc, (StoreUnavailable, NodeTaken)):
                    await self._pause(exc, backoff)
                elif not batch:
                    self._start_unregistered(begun, exc)
                elif begun or len(batch) > 1:
                    suspects = len(batch)  # each is tried alone
                else:
                    self._set_aside_match(self._queued_matches.pop(0), exc)
                    suspects = 0
                continue
            finally:
                self.commits.observe(time.perf_counter() - at)
            suspects = max(0, suspects - len(batch))
            del self._queued_matches[: len(batch)]
            del self._queued_starts[: len(begun)]
            backoff.reset()
            self.health.set_problem("store", None)
            for noted in begun:
                fault = gone.get(noted.match.match)
                if noted.future.done():
                    continue
                if fault is None:
                    noted.future.set_result(None)
                else:
                    noted.future.set_exception(fault)
            for one in batch:
                outcome = outcomes[one.result.match]
                if isinstance(outcome, Exception):
                    self._set_aside_match(one, outcome)
                elif not one.future.done():
                    one.future.set_result(outcome)
        self._turn = 0
        self._last_turns.clear()
        self._writing = None

    def _write_batch(
        self, beginning: Sequence[MatchInProgress], batch: Sequence[_QueuedMatch]
    ) -> tuple[dict[str, BotGone], dict[str, StoredMatch | Exception]]:
        """Close finished matches, then register new matches and store the closed ones in one transaction. Return, by
        match id, the reasons why matches cannot begin, and the outcomes of the finished ones or why they can't be
        closed. This runs in the store's thread.
        """
        outcomes: dict[str, StoredMatch | Exception] = {}
        over = []
        for queued in batch:
            try:
                over.append(prepare_match(queued.close()))
            except Exception as exc:
                outcomes[queued.result.match] = exc
        gone, stored = self._store.write(_begin_and_finish, beginning, over, self.node)
        return gone, outcomes | {one.result.match: outcome for one, outcome in zip(over, stored, strict=True)}

    def _start_unregistered(self, begun: list[_QueuedStart], exc: Exception) -> None:
        """Let matches begin although their registration was rejected. They can't be called off if this node is lost."""
        matches = ", ".join(one.match.match for one in begun)
        log.error("matches that begin (%s) can't be registered: %s", matches, exc)
        del self._queued_starts[: len(begun)]
        for one in begun:
            if not one.future.done():
                one.future.set_result(None)

    async def _pause(self, exc: Exception, backoff: Backoff) -> None:
        """Wait before the next retry. If the process is about to end, fail everything in the queue instead."""
        if self._is_stopping.is_set():
            self._fail(self._queued_matches, exc)
            for one in self._queued_starts:
                one.future.cancel()
            self._queued_matches, self._queued_starts = [], []
            return
        self.health.set_problem("store", f"results can't be stored: {exc}")
        await wait_within(self._is_stopping.wait(), backoff.next_delay())

    def _set_aside_match(self, queued: _QueuedMatch, exc: Exception) -> None:
        """Retry a match later that is no longer in the queue, because it cannot be stored but others can."""
        if isinstance(exc, Fault) and not self._is_stopping.is_set():
            seconds = queued.backoff.next_delay()
            match = queued.result.match
            text = "match %s can't be stored; retrying in %g s: %s"
            log.error(text, match, seconds, exc, extra=log_fields(match=match))
            loop = asyncio.get_running_loop()
            timer: asyncio.TimerHandle = loop.call_later(seconds, lambda: self._requeue(timer, queued))
            self._set_aside[timer] = queued
            return
        self._fail([queued], exc)

    def _requeue(self, timer: asyncio.TimerHandle, queued: _QueuedMatch) -> None:
        del self._set_aside[timer]
        self._defer(queued)

    def _fail(self, those: list[_QueuedMatch], exc: Exception) -> None:
        for one in those:
            if not one.future.done():
                one.future.set_exception(exc)


def _begin_and_finish(
    connection: Connection, begun: Sequence[MatchInProgress], over: Sequence[StorableMatch], node: int
) -> tuple[dict[str, BotGone], list[StoredMatch]]:
    """Register matches that are about to begin, and store finished ones. Return, by match id, the reasons why matches
    cannot begin, and the outcomes of the finished matches.
    """
    gone = begin_matches(connection, begun) if begun else {}
    return gone, finish_matches(connection, over, node) if over else []
