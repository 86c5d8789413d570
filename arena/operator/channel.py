"""The server's end of the operator's channel. Each request runs as a task and is answered on its own connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection
from typing import Protocol, TypeVar

from arena.network.connection import Connection
from arena.operator.requests import (
    MAX_REQUEST_BYTES,
    OperationHandler,
    OperationHandlers,
    Request,
    RunnerRequest,
    encode_reply,
    parse_fields,
    parse_request,
    read_number,
    read_origin,
)
from machine.event_loop import BackgroundTasks
from machine.timeouts import scale_timeouts
from protocol.codec import Frame
from protocol.errors import BotFault, Fault, UsageFault

T = TypeVar("T")
MAX_PENDING_REQUESTS = 64
"""Maximum number of unanswered requests of one connection."""

log = logging.getLogger("arena.operator")


class AuditLog(Protocol):
    """A log of an operator's actions."""

    async def begin(self, origin: str, request: Request) -> int:
        """Record a requested change and return its number in the log. Raise `Fault` if that fails."""

    async def fail(self, number: int, fault: str) -> None:
        """Record why the change with this number failed. Raise `Fault` if that cannot be recorded."""


class Channel:
    """Serves the connections of operators with `handlers`, and records changes in the audit log."""

    def __init__(self, handlers: OperationHandlers, audit_log: AuditLog) -> None:
        self._operations = handlers
        self._runner_operations = {
            name: handler for name, handler in handlers.items() if issubclass(handler.request, RunnerRequest)
        }
        self._audit_log = audit_log
        self._running = BackgroundTasks()
        self.connection_count = 0
        """The current number of operators' connections."""

    async def serve(self, connection: Connection) -> None:
        """Serve one admitted operator's connection until its end."""
        connection.slot.end_waiting()
        connection.set_max_message_bytes(MAX_REQUEST_BYTES)
        session = _OperatorSession(self, connection)
        self.connection_count += 1
        try:
            await connection.deliver_messages(session)
        finally:
            self.connection_count -= 1
            for task, operation in session.tasks.items():
                if operation.cancel_on_disconnect:
                    task.cancel()

    async def close(self) -> None:
        """Wait until all running operations have ended."""
        await self._running.wait()

    def start_operation(
        self, connection: Connection, tasks: dict[asyncio.Task[None], OperationHandler], frame: Frame
    ) -> None:
        """Start the operation that a frame requests, as one of the `tasks` of its connection."""
        number = None
        try:
            if isinstance(frame, bytes):
                raise UsageFault("a request is text, not binary")
            words = parse_fields(frame)
            number = read_number(words)
            by = read_origin(words)
            operation, request = parse_request(
                words, self._runner_operations if connection.slot.is_runner else self._operations
            )
            if len(tasks) >= MAX_PENDING_REQUESTS:
                raise UsageFault(
                    f"{MAX_PENDING_REQUESTS} requests are under way on this connection: wait for an answer"
                )
        except UsageFault as fault:
            connection.send_frame(encode_reply(number, fault=str(fault), usage=True))
            return
        if operation.keepalive is not None:
            keepalive = scale_timeouts(operation.keepalive)
            connection.set_keepalive(keepalive.ping_interval_s, keepalive.pong_timeout_s)
        task = self._running.start(self._perform(connection, number, by, operation, request))
        tasks[task] = operation
        task.add_done_callback(tasks.pop)

    async def _perform(
        self, connection: Connection, number: int, origin: str, handler: OperationHandler, request: Request
    ) -> None:
        kept = await self._record_change(origin, request)
        try:
            answer = await handler.perform(
                request, lambda event: connection.send_frame(encode_reply(number, event=event))
            )
        except Exception as exc:
            fault, usage = str(exc), isinstance(exc, (BotFault, UsageFault))
            if not isinstance(exc, Fault):
                log.exception("%s failed", request.operation_name())
                fault = f"{request.operation_name()} failed: the server's log says how"
            if kept is not None:
                await self._await_recording(request, self._audit_log.fail(kept, fault))
            connection.send_frame(encode_reply(number, fault=fault, usage=usage))
        else:
            connection.send_frame(encode_reply(number, ok=answer))

    async def _record_change(self, by: str, request: Request) -> int | None:
        """Record the change that a request will make, and return its number.

        Return None if the request changes nothing, or if recording fails.
        """
        return (
            None
            if request.changed_names() is None
            else await self._await_recording(request, self._audit_log.begin(by, request))
        )

    async def _await_recording(self, request: Request, recording: Awaitable[T]) -> T | None:
        """Await a write to the audit log, and return its result.

        If it fails, log that and return None, so that the operation still runs.
        """
        try:
            return await recording
        except Fault as fault:
            log.error("the log of actions lacks a %s: %s", request.operation_name(), fault)
            return None


class _OperatorSession:
    """The receiver of an operator's connection. The arena awaits none of its messages, so their cost is charged."""

    awaited: Collection[object] = ()

    def __init__(self, channel: Channel, connection: Connection) -> None:
        self.tasks: dict[asyncio.Task[None], OperationHandler] = {}
        """The running operations that the connection requested."""
        self._channel = channel
        self._connection = connection

    def receive(self, frame: Frame) -> bool:
        self._channel.start_operation(self._connection, self.tasks, frame)
        return False

    def on_late_write(self, previous: float, now: float) -> None:
        """Ignore late writes: an operator's clock never runs."""
