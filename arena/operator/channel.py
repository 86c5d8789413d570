"""The server's end of the operator's channel: each request is a task, answered on the connection that it came by."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Protocol, TypeVar

from arena.network.connection import Connection
from arena.operator.requests import MAX_REQUEST, Handler, Handlers, Request, by_of, number_of, read, reply, words_of
from machine.event_loop import Tasks
from protocol.codec import Frame
from protocol.errors import BotFault, Fault, UsageFault

T = TypeVar("T")
MOST_AT_ONCE = 64
"""Requests of one connection that are not answered yet."""

log = logging.getLogger("arena.operator")


class ActionLog(Protocol):
    """Keeps what an operator does."""

    async def begin(self, by: str, request: Request) -> int:
        """Keep that somebody asks for a change; a number for it. Raises `Fault`."""

    async def fail(self, number: int, fault: str) -> None:
        """Keep what was wrong with it. Raises `Fault`."""


class Channel:
    """Serves the operator's connections with these operations; changes are kept in the log of `actions`."""

    def __init__(self, operations: Handlers, actions: ActionLog) -> None:
        self._operations = operations
        self._actions = actions
        self._unfinished = Tasks()
        self.connections = 0
        """Of operators, as of now."""

    async def serve(self, wire: Connection) -> None:
        """One connection, which was let in as the operator's, to its end."""
        wire.place.enter()
        wire.protocol.max_message_size = MAX_REQUEST
        tasks: dict[asyncio.Task[None], Handler] = {}
        self.connections += 1
        try:
            await wire.deliver(lambda frame: self._receive(wire, tasks, frame), ())
        finally:
            self.connections -= 1
            for task, operation in tasks.items():
                if operation.while_heard:
                    task.cancel()

    async def close(self) -> None:
        """Wait for what was begun and is to be finished."""
        await self._unfinished.wait()

    def _receive(self, wire: Connection, tasks: dict[asyncio.Task[None], Handler], frame: Frame) -> bool:
        """Begin what a frame asks for, beside the `tasks` of its connection.

        It is charged as anything else that nobody waits for.
        """
        number = None
        try:
            if isinstance(frame, bytes):
                raise UsageFault("a request is text, not binary")
            words = words_of(frame)
            number = number_of(words)
            by = by_of(words)
            operation, request = read(words, self._operations)
            if len(tasks) >= MOST_AT_ONCE:
                raise UsageFault(f"{MOST_AT_ONCE} requests are under way on this connection: wait for an answer")
        except UsageFault as fault:
            wire.push(reply(number, fault=str(fault), usage=True))
            return False
        task = self._unfinished.begin(self._perform(wire, number, by, operation, request))
        tasks[task] = operation
        task.add_done_callback(tasks.pop)
        return False

    async def _perform(self, wire: Connection, number: int, by: str, operation: Handler, request: Request) -> None:
        kept = await self._begin(by, request)
        try:
            answer = await operation.perform(request, lambda event: wire.push(reply(number, event=event)))
        except Exception as exc:
            fault, usage = str(exc), isinstance(exc, (BotFault, UsageFault))
            if not isinstance(exc, Fault):
                log.exception("%s failed", request.do())
                fault = f"{request.do()} failed: the server's log says how"
            if kept is not None:
                await self._keep(request, self._actions.fail(kept, fault))
            wire.push(reply(number, fault=fault, usage=usage))
        else:
            wire.push(reply(number, ok=answer))

    async def _begin(self, by: str, request: Request) -> int | None:
        """Keep a change before it is made; None where there is nothing to keep, or it can't be kept."""
        return None if request.concerns() is None else await self._keep(request, self._actions.begin(by, request))

    async def _keep(self, request: Request, keeping: Awaitable[T]) -> T | None:
        """What can't be kept is done all the same, and the server's log says so."""
        try:
            return await keeping
        except Fault as fault:
            log.error("the log of actions lacks a %s: %s", request.do(), fault)
            return None
