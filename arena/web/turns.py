"""Who is served next: a bounded number at once, addresses in turn, and of an address whoever asked first."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

T = TypeVar("T")
RETRY_AFTER = 5
"""Seconds."""


class Turns:
    """Work in `at_once` threads. Of one address `per_address` may wait, of all `waiting`."""

    def __init__(self, at_once: int, per_address: int, waiting: int) -> None:
        self._free = at_once
        self._per_address, self._most = per_address, waiting
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}
        """Those who wait, by address; the address whose turn it is first."""

    async def take(
        self, address: str, work: Callable[[], T], gone: Callable[[], Awaitable[bool]], *, begun: bool = False
    ) -> T:
        """What `work` returns, in a thread, when it was the turn of this address. Raises as `enter` does."""
        await self.enter(address, gone, begun=begun)
        try:
            return await run_in_threadpool(work)
        finally:
            self.leave()

    async def enter(self, address: str, gone: Callable[[], Awaitable[bool]], *, begun: bool = False) -> None:
        """Wait for a turn of this address, which lasts until `leave`. Raises `ClientDisconnect` if its visitor is
        `gone` by then.

        It is refused with 429 where too many of the address wait, with 503 where too many of all do; never where it is
        part of what has `begun`.
        """
        if self._free:
            self._free -= 1
        else:
            await self._wait(address, begun=begun)
        try:
            if await gone():
                raise ClientDisconnect
        except BaseException:
            self.leave()
            raise

    async def _wait(self, address: str, *, begun: bool) -> None:
        line = self._lines.get(address, deque())
        if not begun:
            if len(line) >= self._per_address:
                raise refusal(HTTPStatus.TOO_MANY_REQUESTS, f"{len(line)} requests of {address} wait for an answer")
            if (waiting := sum(map(len, self._lines.values()))) >= self._most:
                raise refusal(HTTPStatus.SERVICE_UNAVAILABLE, f"{waiting} requests wait for an answer")
        self._lines[address] = line
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in line:
                line.remove(turn)
                if not line:
                    del self._lines[address]
            elif not turn.cancelled():  # it was this one's turn by then
                self.leave()
            raise

    def leave(self) -> None:
        """End a turn: let the next in, of the address that has waited the longest for its turn."""
        while self._lines:
            address = next(iter(self._lines))
            line = self._lines.pop(address)
            turn = line.popleft()
            if line:
                self._lines[address] = line
            if not turn.cancelled():  # else who waited is still to be told
                turn.set_result(None)
                return
        self._free += 1


def refusal(status: HTTPStatus, why: str) -> HTTPException:
    """What a visitor is told who should ask later."""
    return HTTPException(status, f"{why}: ask again in {RETRY_AFTER} s", {"retry-after": str(RETRY_AFTER)})
