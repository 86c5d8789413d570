"""The connection to one node and its reconnects, which passes messages to the conversation and performs the effects."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from bots.client.connecting import Away, Refused, connect
from bots.client.nodes import Directed, NodeTalk
from bots.client.talk import Say, Stop
from bots.client.timeouts import ClientTimeouts
from machine.backoff import Backoff
from protocol.codec import MSGPACK
from protocol.errors import MalformedMessage, UsageFault
from protocol.messages import FromClient, Welcome

BROKEN = 1006


class Connection:
    """Keeps a connection to `url` and passes effects to `perform`. After `patience` seconds of failure it gives up."""

    def __init__(
        self,
        name: str,
        url: str,
        patience: float | None,
        talk: NodeTalk,
        perform: Callable[[Sequence[Directed]], None],
        timeouts: ClientTimeouts,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeouts = timeouts
        self._clock = clock
        self._name = name
        self._url = url
        self._patience = patience
        self._talk = talk
        self._perform = perform
        self._backoff = Backoff(timeouts.first_retry_delay_s, timeouts.max_retry_delay_s, random.random)
        self._outbox: deque[FromClient] = deque()
        self._wake = asyncio.Event()
        self._stops = False
        self._waiting: asyncio.Timeout | None = None
        """The timeout around what `stop` interrupts."""
        self._welcomed: float | None = None
        """When the welcome arrived."""
        self.down_since: float | None = None
        """When the connection was lost, or first failed; no other node has been connected since then."""
        self._said = 0.0

    async def keep(self) -> None:
        """Connect, converse and reconnect until `stop`."""
        while not self._stops:
            asked = await self._visit()
            if not self._stops:
                async with self._until_stopped():
                    await asyncio.sleep(self._no_longer_than_patience(max(asked, self._backoff.delay())))

    def stop(self) -> None:
        """Send what is queued, then close; wait for nothing else."""
        if self._stops:
            return
        self._stops = True
        self._wake.set()
        if self._waiting is not None:
            self._waiting.reschedule(0.0)

    def send(self, message: FromClient) -> None:
        """Queue a message."""
        self._outbox.append(message)
        self._wake.set()

    async def _visit(self) -> float:
        """Try one connection. Return the seconds that the arena asks to wait if it fails."""
        connection: ClientConnection | None = None
        try:
            async with self._until_stopped():
                connection = await connect(self._url, self._timeouts)
        except Away as away:
            self._down(str(away))
            self._perform(self._talk.unreached())
            return away.after
        except (Refused, UsageFault) as fault:
            self._perform(self._talk.refused(fault))
            return 0.0
        if connection is not None:
            await self._converse(connection)
        return 0.0

    @contextlib.asynccontextmanager
    async def _until_stopped(self) -> AsyncIterator[None]:
        """Interrupt the body when the connection has to stop."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as self._waiting:
                try:
                    yield
                finally:
                    self._waiting = None

    def _no_longer_than_patience(self, seconds: float) -> float:
        if self._patience is None or self.down_since is None:
            return seconds
        return max(0.0, min(seconds, self.down_since + self._patience - self._clock()))

    def _down(self, why: str, so: str = "trying again") -> None:
        """Report why the bot is not connected, and `so` what it does: at once, then at intervals. Stop when patience
        ends.

        Patience does not end while another node is connected.
        """
        now = self._clock()
        if self.down_since is None or self._talk.others_up:
            self.down_since = now
        if self._patience is not None and now - self.down_since >= self._patience:
            self._perform([Say(f"{self._name}: {why}; gave up after {self._patience:g} s", trouble=True), Stop(1)])
        elif not self._said or now - self._said >= self._timeouts.down_notice_interval_s:
            self._said = now
            self._perform([Say(f"{self._name}: {why}; {so}", trouble=True)])

    async def _converse(self, connection: ClientConnection) -> None:
        self._outbox.clear()
        self._welcomed = None
        self.send(self._talk.hello())
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
        if not self._stops:
            code = connection.close_code or BROKEN
            if self._welcomed is not None:
                self._backoff.reset(self._clock() - self._welcomed)
            self._perform(self._talk.lost(code))
            if not self._stops:
                self._down(self._talk.ended(code))

    async def _wait_for_welcome(self) -> None:
        """Report at intervals that no welcome comes, until it does or patience ends."""
        while not self._stops:
            await asyncio.sleep(self._no_longer_than_patience(self._timeouts.welcome_notice_delay_s))
            if self._welcomed is not None:
                return
            self._down(f"{self._url} has not let it in yet", "waiting")

    async def _read(self, connection: ClientConnection) -> None:
        while True:
            try:
                frame = await connection.recv()
            except ConnectionClosed:
                return
            try:
                message = MSGPACK.decode_server(frame)
            except MalformedMessage as exc:
                self._perform([Say(f"{self._name}: not understood: {exc}", trouble=True)])
                continue
            self._perform(self._talk.receive(message, self._clock()))
            if type(message) is Welcome:
                self._welcomed = self._clock()
                self.down_since = None
                self._said = 0.0

    async def _write(self, connection: ClientConnection) -> None:
        """Send the outbox in order; close once the bot has stopped."""
        outbox = self._outbox
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while outbox:
                    await connection.send(MSGPACK.encode(outbox.popleft()))
            except ConnectionClosed:
                return
            if self._stops:
                await connection.close()
                return
