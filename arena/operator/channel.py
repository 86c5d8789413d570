"""The server's end of the operator's channel: each request is a task, answered on the connection that it came by."""

from __future__ import annotations

import asyncio
import logging

from arena.network.connection import Connection
from arena.operator.requests import MAX_REQUEST, Handler, Handlers, Request, number_of, read, reply, words_of
from machine.event_loop import Tasks
from protocol.codec import Frame
from protocol.errors import BotFault, Fault, UsageFault

MOST_AT_ONCE = 64
"""Requests of one connection that are not answered yet."""

log = logging.getLogger("arena.operator")


class Channel:
    """Serves the operator's connections with these operations."""

    def __init__(self, operations: Handlers) -> None:
        self._operations = operations
        self._unfinished = Tasks()

    async def serve(self, wire: Connection) -> None:
        """One connection, which was let in as the operator's, to its end."""
        wire.place.enter()
        wire.protocol.max_message_size = MAX_REQUEST
        tasks: dict[asyncio.Task[None], Handler] = {}
        try:
            await wire.deliver(lambda frame: self._receive(wire, tasks, frame), ())
        finally:
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
            operation, request = read(words, self._operations)
            if len(tasks) >= MOST_AT_ONCE:
                raise UsageFault(f"{MOST_AT_ONCE} requests are under way on this connection: wait for an answer")
        except UsageFault as fault:
            wire.push(reply(number, fault=str(fault), usage=True))
            return False
        task = self._unfinished.begin(_perform(wire, number, operation, request))
        tasks[task] = operation
        task.add_done_callback(tasks.pop)
        return False


async def _perform(wire: Connection, number: int, operation: Handler, request: Request) -> None:
    try:
        answer = await operation.perform(request, lambda event: wire.push(reply(number, event=event)))
        wire.push(reply(number, ok=answer))
    except Fault as fault:
        wire.push(reply(number, fault=str(fault), usage=isinstance(fault, (BotFault, UsageFault))))
    except Exception:
        log.exception("%s failed", request.do())
        wire.push(reply(number, fault=f"{request.do()} failed: the server's log says how"))
