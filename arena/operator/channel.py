"""The server's end of the operator's channel. Each request runs as a task and is answered on its own connection."""

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
"""Maximum number of unanswered requests of one connection."""

log = logging.getLogger("arena.operator")


class ActionLog(Protocol):
    """The audit log of an operator's actions."""

    async def begin(self, by: str, request: Request) -> int:
        """Record a requested change and return its number. Raise `Fault`."""

    async def fail(self, number: int, fault: str) -> None:
        """Record why the change with a number failed. Raise `Fault`."""


class Channel:
    """Serves operators' connections with some operations, and records changes in the audit log `actions`."""

    def __init__(self, operations: Handlers, actions: ActionLog) -> None:
        self._operations = operations
        self._actions = actions
        self._unfinished = Tasks()
        self.connections = 0
        """The number of operators' connections."""

    async def serve(self, wire: Connection) -> None:
        """Serve one admitted operator's connection until its end."""
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
        """Wait for the operations that must finish."""
        await self._unfinished.wait()

    def _receive(self, wire: Connection, tasks: dict[asyncio.Task[None], Handler], frame: Frame) -> bool:
        """Start the operation that a frame requests, as one of its connection's `tasks`.

        Return False: the arena did not await the frame, so it is charged to the connection.
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
        """Record a change before it is made. Return its number; None if nothing is to be recorded, or that fails."""
        return None if request.concerns() is None else await self._keep(request, self._actions.begin(by, request))

    async def _keep(self, request: Request, keeping: Awaitable[T]) -> T | None:
        """Await a write to the audit log. A failure is only logged, so that the operation still runs."""
        try:
            return await keeping
        except Fault as fault:
            log.error("the log of actions lacks a %s: %s", request.do(), fault)
            return None
