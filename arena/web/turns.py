"""A fair queue: tasks run a few at a time, addresses take turns, and each address is first come, first served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from machine.keyed_items import KeyedItems

T = TypeVar("T")
RETRY_AFTER_S = 5
"""The number of seconds after which a refused visitor should retry."""


class FairTaskQueue:
    """A queue of tasks in which addresses take turns. At most `threads` tasks run at the same time. At most
    `max_waiting_per_address` tasks of an address wait, and at most `max_waiting` in total.
    """

    def __init__(self, threads: int, max_waiting_per_address: int, max_waiting: int) -> None:
        self._free = threads
        self._per_address, self._most = max_waiting_per_address, max_waiting
        self._queue: KeyedItems[str, asyncio.Future[None]] = KeyedItems()
        """The waiting tasks, by address."""

    async def run(
        self,
        address: str,
        work: Callable[[], T],
        is_gone: Callable[[], Awaitable[bool]],
        *,
        is_continuation: bool = False,
    ) -> T:
        """Wait for a turn of this address, run `work` in a thread, and end the turn. Return the result of `work`, or
        raise its errors. Also raise the errors of `turn`, which waits for the turn.
        """
        async with self.turn(address, is_gone, is_continuation=is_continuation):
            return await run_in_threadpool(work)

    @asynccontextmanager
    async def turn(
        self, address: str, is_gone: Callable[[], Awaitable[bool]], *, is_continuation: bool = False
    ) -> AsyncIterator[None]:
        """Wait for a turn of this address, which lasts as long as the context. A task that continues an answer may wait
        even if too many tasks wait.

        Raise `ClientDisconnect` if `is_gone()` is true when the turn begins. Raise an `HTTPException` if too many tasks
        wait: 429 if they are of this address, else 503.
        """
        if self._free:
            self._free -= 1
        else:
            await self._wait(address, is_continuation=is_continuation)
        try:
            if await is_gone():
                raise ClientDisconnect
            yield
        finally:
            self._end_turn()

    async def _wait(self, address: str, *, is_continuation: bool) -> None:
        if not is_continuation:
            if (waiting := self._queue.weight(address)) >= self._per_address:
                raise refuse(HTTPStatus.TOO_MANY_REQUESTS, f"{waiting} requests of {address} wait for an answer")
            if (waiting := len(self._queue)) >= self._most:
                raise refuse(HTTPStatus.SERVICE_UNAVAILABLE, f"{waiting} requests wait for an answer")
        turn = asyncio.get_running_loop().create_future()
        self._queue.add(address, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not self._queue.discard(turn) and not turn.cancelled():  # the turn had come already
                self._end_turn()
            raise

    def _end_turn(self) -> None:
        """End a turn, and start the next task of the address that has waited longest for a turn."""
        while (turn := self._queue.take()) is not None:
            if not turn.cancelled():  # else that task is about to be cancelled
                turn.set_result(None)
                return
        self._free += 1


def refuse(status: HTTPStatus, why: str) -> HTTPException:
    """Return the error that tells a visitor to retry later."""
    return HTTPException(status, f"{why}: ask again in {RETRY_AFTER_S} s", {"retry-after": str(RETRY_AFTER_S)})
