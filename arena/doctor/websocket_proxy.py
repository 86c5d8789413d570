"""A WebSocket proxy between a bot and an arena that records messages and can change, delay or drop them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Subprotocol

from arena.doctor.tcp_proxy import HOST
from arena.doctor.timeouts import DoctorTimeouts
from machine.backoff import Backoff, Retry
from machine.event_loop import run_until_first
from protocol.codec import JSON, MSGPACK, Frame
from protocol.messages import MAX_SERVER_FRAME_BYTES

Message = dict[str, Any]
T = TypeVar("T")
NO_CLOSE_CODE, BROKEN_CODE = 1005, 1006
"""Close codes that are never sent. `NO_CLOSE_CODE` stands for a close frame without a code, `BROKEN_CODE` for a
connection that ended without a close frame.
"""
PING_INTERVAL_S = 0.25
"""Seconds between two pings to the bot."""
SUBPROTOCOLS = [Subprotocol(JSON.subprotocol), Subprotocol(MSGPACK.subprotocol)]
"""The subprotocols that a bot may offer to the proxy."""
FROM_BOT, FROM_ARENA, FROM_PROXY = "bot", "arena", "relay"
"""The values of `RecordedMessage.sender`: `FROM_BOT` is the bot, `FROM_ARENA` the arena, `FROM_PROXY` the proxy itself.
"""
PROXY_SEEK_ID = "doctor"
"""The id of a seek that the proxy sends in place of a bot that seeks nothing. It is removed from the bot's `start`."""


class RecordedMessage(NamedTuple):
    """A message that the proxy recorded.

    `at` is the time of the monotonic clock in seconds, `connection` the number of the bot's connection.
    """

    at: float
    connection: int
    sender: str
    message: Message

    @property
    def type(self) -> str:
        """The type of the message. The proxy itself records `opened` and `closed` for the bot's connections."""
        return str(self.message.get("type"))


class ProxiedConnection:
    """One connection of the bot, with the queues of messages to the bot and to the arena."""

    def __init__(self, number: int, wire: ServerConnection) -> None:
        self.number = number
        self.socket = wire
        self.is_silent = False
        """True if data of this connection is not passed on. Then missing pongs do not count."""
        self.to_bot: asyncio.Queue[tuple[float, Message]] = asyncio.Queue()
        self.to_arena: asyncio.Queue[Message] = asyncio.Queue()


def pass_unchanged(message: Message) -> Sequence[Message]:
    """Return this message alone, unchanged. The default of `from_bot` and `from_arena`."""
    return [message]


class WebSocketProxy:
    """A proxy that records the messages between a bot, which connects to the proxy's port, and an arena.

    `from_bot` and `from_arena` can change messages. Each takes a message from its side and returns the messages to pass
    on in its place.
    """

    def __init__(self, arena_port: int, timeouts: DoctorTimeouts) -> None:
        self.arena = arena_port
        self._timeouts = timeouts
        self.messages: list[RecordedMessage] = []
        self.connection: ProxiedConnection | None = None
        """The bot's newest connection; None if that is closed."""
        self.slowest_pong = 0.0
        """The longest time that the bot took to answer a ping, in seconds."""
        self._server: Server | None = None
        self._lines = 0
        self._changed = asyncio.Event()
        self.reset()

    def reset(self) -> None:
        """Pass on all messages unchanged and without delay, and accept new connections."""
        self.from_bot: Callable[[Message], Iterable[Message]] = pass_unchanged
        self.from_arena: Callable[[Message], Iterable[Message]] = pass_unchanged
        self.delays: dict[str, float] = {}
        """Delays in seconds of messages to the bot, by type."""
        self.closes_with: int | None = None
        """The code with which new connections are closed at once; None if they are accepted."""

    async def open(self) -> int:
        """Listen and return the port."""
        self._server = await serve(
            self._serve,
            HOST,
            0,
            subprotocols=SUBPROTOCOLS,
            select_subprotocol=lambda _, offered: next((name for name in offered if name in SUBPROTOCOLS), None),
            compression=None,
            max_size=MAX_SERVER_FRAME_BYTES,
            ping_interval=None,
            close_timeout=1,
        )
        port: int = next(iter(self._server.sockets)).getsockname()[1]
        return port

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def until(self, found: Callable[[], T | None], timeout_s: float) -> T | None:
        """Call `found` now and after each change, like a new message. Return its first result that is not None.

        Return None after `timeout_s` seconds.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while (it := found()) is None:
                    self._changed.clear()
                    await self._changed.wait()
                return it
        return None

    def wake(self) -> None:
        """Let `until` call its function again, because something outside the proxy has changed."""
        self._changed.set()

    def send_to_bot(self, message: Message) -> None:
        """Send the bot a message that the arena did not send."""
        if self.connection is not None:
            self.connection.to_bot.put_nowait((time.monotonic(), message))

    def send_to_arena(self, message: Message) -> None:
        """Send the arena a message that the bot did not send."""
        if self.connection is not None:
            self.connection.to_arena.put_nowait(message)

    async def close_connection(self, code: int) -> None:
        """Close the bot's connection with a code."""
        if self.connection is not None:
            await self.connection.socket.close(code)

    def _record(self, connection: ProxiedConnection, by: str, message: Message) -> None:
        self.messages.append(RecordedMessage(time.monotonic(), connection.number, by, message))
        self._changed.set()

    async def _serve(self, wire: ServerConnection) -> None:
        self._lines += 1
        line = ProxiedConnection(self._lines, wire)
        self._record(line, FROM_PROXY, {"type": "opened"})
        try:
            if self.closes_with is not None:
                await wire.close(self.closes_with)
                return
            self.connection = line
            upstream = await self._connect_to_arena(wire.subprotocol)
            async with upstream:
                await run_until_first(
                    self._receive_from_bot(line),
                    self._receive_from_arena(line, upstream),
                    self._send_to_bot(line),
                    self._send_to_arena(line, upstream),
                    self._ping(line),
                )
                code = upstream.close_code
            if code is not None and code not in (NO_CLOSE_CODE, BROKEN_CODE):
                await wire.close(code)
        except (OSError, TimeoutError, ConnectionClosed):
            wire.transport.abort()
        finally:
            if self.connection is line:
                self.connection = None
            self._record(line, FROM_PROXY, {"type": "closed"})

    async def _connect_to_arena(self, subprotocol: Subprotocol | None) -> ClientConnection:
        """Connect to the arena, with retries while it restarts. Raise `TimeoutError` if that takes too long."""
        async with asyncio.timeout(self._timeouts.arena_timeout_s):
            retry = Retry((OSError, InvalidHandshake, ConnectionClosed), Backoff(0.1))
            open_connection = partial(
                connect,
                f"ws://{HOST}:{self.arena}",
                subprotocols=None if subprotocol is None else [subprotocol],
                compression=None,
                max_size=MAX_SERVER_FRAME_BYTES,
                proxy=None,
                ping_interval=None,
                close_timeout=1,
            )
            return await retry.run(open_connection)

    async def _receive_from_bot(self, connection: ProxiedConnection) -> None:
        async for frame in connection.socket:
            message = _decode(frame)
            self._record(connection, FROM_BOT, message)
            for passed in self.from_bot(message):
                connection.to_arena.put_nowait(passed)

    async def _receive_from_arena(self, connection: ProxiedConnection, upstream: ClientConnection) -> None:
        async for frame in upstream:
            message = _decode(frame)
            if message.get("seek") == PROXY_SEEK_ID:
                del message["seek"]
            for passed in self.from_arena(message):
                due = time.monotonic() + self.delays.get(passed["type"], 0.0)
                connection.to_bot.put_nowait((due, passed))
        await connection.to_bot.join()  # deliver everything that came before the end

    async def _send_to_bot(self, connection: ProxiedConnection) -> None:
        while True:
            due, message = await connection.to_bot.get()
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            self._record(connection, FROM_ARENA, message)
            await connection.socket.send(_encode(message, connection.socket.subprotocol))
            connection.to_bot.task_done()

    async def _send_to_arena(self, connection: ProxiedConnection, upstream: ClientConnection) -> None:
        while True:
            await upstream.send(_encode(await connection.to_arena.get(), connection.socket.subprotocol))

    async def _ping(self, connection: ProxiedConnection) -> None:
        while True:
            sent = time.monotonic()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timeouts.pong_timeout_s):
                    await (await connection.socket.ping())
            if not connection.is_silent:
                self.slowest_pong = max(self.slowest_pong, time.monotonic() - sent)
            await asyncio.sleep(PING_INTERVAL_S)


def _decode(frame: Frame) -> Message:
    """Decode a frame as a message. A frame that is no dictionary becomes a message of a type that the arena rejects."""
    try:
        read = msgspec.json.decode(frame) if isinstance(frame, str) else msgspec.msgpack.decode(frame)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"type": "no message"}


def _encode(message: Message, subprotocol: str | None) -> Frame:
    if subprotocol == JSON.subprotocol:
        return msgspec.json.encode(message).decode()
    return msgspec.msgpack.encode(message)
