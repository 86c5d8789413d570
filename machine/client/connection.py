"""The connection to one node, which reconnects. It passes messages to the conversation and carries out its effects."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from machine.backoff import Backoff
from machine.client.client_protocol import Effect
from machine.client.connecting import ArenaRefused, ArenaUnreachable, connect
from machine.client.nodes import ABNORMAL_CLOSURE, ArenaNode, NodeRouter
from machine.client.timeouts import ClientTimeouts
from protocol.codec import MSGPACK
from protocol.errors import MalformedMessage, UsageFault
from protocol.messages import FromClient, Welcome


class NodeConnection:
    """The connection to a node, which reconnects. It passes effects to `perform`."""

    def __init__(
        self,
        node: ArenaNode,
        nodes: NodeRouter,
        perform: Callable[[Sequence[Effect]], None],
        timeouts: ClientTimeouts,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeouts = timeouts
        self._clock = clock
        self._node = node
        self._nodes = nodes
        self._perform = perform
        self._backoff = Backoff(timeouts.first_retry_delay_s, timeouts.max_retry_delay_s, random.random)
        self._outbox: deque[FromClient] = deque()
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._stop_timeout: asyncio.Timeout | None = None
        """The timeout object of a wait that `stop` has to interrupt; None if nothing is waiting."""
        self._welcomed_at: float | None = None
        """The time at which the arena's welcome arrived; None before it."""
        self.down_since: float | None = None
        """The time since which no node of the arena has been connected; None while one is connected."""
        self._reported_at = 0.0

    async def run(self) -> None:
        """Connect, exchange messages and reconnect until `stop` is called."""
        while not self._is_stopping:
            asked = await self._try_connection()
            if not self._is_stopping:
                async with self._until_stopped():
                    await asyncio.sleep(self._cap_by_patience(max(asked, self._backoff.next_delay())))

    def stop(self) -> None:
        """Send the queued messages, then close the connection, without waiting for anything else."""
        if self._is_stopping:
            return
        self._is_stopping = True
        self._wake.set()
        if self._stop_timeout is not None:
            self._stop_timeout.reschedule(0.0)

    def send(self, message: FromClient) -> None:
        """Queue a message to be sent."""
        self._outbox.append(message)
        self._wake.set()

    async def _try_connection(self) -> float:
        """Open one connection and use it until it ends. Return how many seconds the arena asks the bot to wait."""
        connection: ClientConnection | None = None
        try:
            async with self._until_stopped():
                connection = await connect(self._node.url, self._timeouts)
        except ArenaUnreachable as away:
            self._report_down(str(away))
            self._perform(self._nodes.handle_failed_attempt(self._node))
            return away.retry_after_s
        except (ArenaRefused, UsageFault) as fault:
            self._perform(self._nodes.handle_refusal(self._node, fault))
            return 0.0
        if connection is not None:
            await self._converse(connection)
        return 0.0

    @contextlib.asynccontextmanager
    async def _until_stopped(self) -> AsyncIterator[None]:
        """Run the body of this context until `stop` is called, which interrupts it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as self._stop_timeout:
                try:
                    yield
                finally:
                    self._stop_timeout = None

    def _cap_by_patience(self, seconds: float) -> float:
        patience = self._nodes.patience_for(self._node)
        if patience is None or self.down_since is None:
            return seconds
        return max(0.0, min(seconds, self.down_since + patience - self._clock()))

    def _report_down(self, reason: str, activity: str = "trying again") -> None:
        """Report why the client is not connected, and its `activity`: at once, then at intervals. Give up when its
        patience has run out, unless another node is connected.
        """
        now, patience = self._clock(), self._nodes.patience_for(self._node)
        if self.down_since is None or self._nodes.is_other_connected(self._node):
            self.down_since = now
        if patience is not None and now - self.down_since >= patience:
            gave_up = f"; gave up after {patience:g} s" if patience else ""
            self._perform(self._nodes.protocol.give_up(reason + gave_up))
        elif self._nodes.is_reported(self._node) and (
            not self._reported_at or now - self._reported_at >= self._timeouts.down_notice_interval_s
        ):
            self._reported_at = now
            self._perform([self._nodes.protocol.make_error_line(f"{reason}; {activity}")])

    async def _converse(self, connection: ClientConnection) -> None:
        self._outbox.clear()
        self._welcomed_at = None
        self.send(self._nodes.protocol.hello())
        writer = asyncio.create_task(self._write(connection))
        waiting = asyncio.create_task(self._wait_for_welcome())
        try:
            await self._read(connection)
        finally:
            waiting.cancel()
            try:
                await connection.close()
            finally:
                writer.cancel()
                await asyncio.wait([writer])  # unlike `await writer`, this distinguishes its cancellation from ours
            if not writer.cancelled():
                writer.result()
        if not self._is_stopping:
            code = connection.close_code or ABNORMAL_CLOSURE
            if self._welcomed_at is not None:
                self._backoff.reset(self._clock() - self._welcomed_at)
            self._perform(self._nodes.handle_lost(self._node, code))
            if not self._is_stopping:
                self._report_down(self._nodes.describe_end(self._node, code))

    async def _wait_for_welcome(self) -> None:
        """Report at intervals that the arena has not welcomed the bot, until it does or patience has run out."""
        while not self._is_stopping:
            await asyncio.sleep(self._cap_by_patience(self._timeouts.welcome_notice_delay_s))
            if self._welcomed_at is not None:
                return
            self._report_down(f"{self._node.url} has not accepted it yet", "waiting")

    async def _read(self, connection: ClientConnection) -> None:
        while True:
            try:
                frame = await connection.recv()
            except ConnectionClosed:
                return
            try:
                message = MSGPACK.decode_server(frame)
            except MalformedMessage as exc:
                self._perform([self._nodes.protocol.make_error_line(f"bad message from the arena: {exc}")])
                continue
            self._perform(self._nodes.receive(self._node, message, self._clock()))
            if type(message) is Welcome:
                self._welcomed_at = self._clock()
                self.down_since = None
                self._reported_at = 0.0

    async def _write(self, connection: ClientConnection) -> None:
        """Send the queued messages in order. After `stop` was called, close the connection."""
        outbox = self._outbox
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while outbox:
                    await connection.send(MSGPACK.encode(outbox.popleft()))
            except ConnectionClosed:
                return
            if self._is_stopping:
                await connection.close()
                return
