"""A WebSocket proxy between a bot and an arena that records messages and can change, delay or drop them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Subprotocol

from arena.doctor.tcp_proxy import HOST
from arena.doctor.timeouts import DoctorTimeouts
from machine.event_loop import until_first
from protocol.codec import JSON, MSGPACK, Frame
from protocol.messages import MAX_SERVER_FRAME

Message = dict[str, Any]
T = TypeVar("T")
NO_CODE, BROKEN = 1005, 1006
"""Close codes of connections that ended without one."""
PING_EVERY = 0.25
SUBPROTOCOLS = [Subprotocol(JSON.subprotocol), Subprotocol(MSGPACK.subprotocol)]
BOT, ARENA, RELAY = "bot", "arena", "relay"
OWN_SEEK = "doctor"
"""The id of a seek that the proxy makes for a bot that seeks nothing: the bot sees an assigned match."""


class Seen(NamedTuple):
    """A recorded message: its sender, the bot's connection, and the time in seconds of the monotonic clock."""

    at: float
    line: int
    by: str
    message: Message

    @property
    def type(self) -> str:
        """The type of the message; the proxy's own are `opened` and `closed`."""
        return str(self.message.get("type"))


class Visit:
    """One connection of the bot, with the messages to send in both directions."""

    def __init__(self, number: int, wire: ServerConnection) -> None:
        self.number = number
        self.wire = wire
        self.silent = False
        """True if nothing is passed on, so that missing pongs do not count."""
        self.to_bot: asyncio.Queue[tuple[float, Message]] = asyncio.Queue()
        self.to_arena: asyncio.Queue[Message] = asyncio.Queue()


def connection_to(port: int, subprotocol: Subprotocol | None) -> connect:
    """Return a connection to the arena on a local port, to be awaited or entered."""
    return connect(
        f"ws://{HOST}:{port}",
        subprotocols=None if subprotocol is None else [subprotocol],
        compression=None,
        max_size=MAX_SERVER_FRAME,
        proxy=None,
        ping_interval=None,
        close_timeout=1,
    )


def unchanged(message: Message) -> Sequence[Message]:
    """Return a message unchanged, the default of `from_bot` and `from_arena`."""
    return [message]


class WebSocketProxy:
    """Accepts bots on a port of its own, and passes their messages to the port `arena` and back.

    `from_bot` and `from_arena` return the messages to pass on in place of a message: one, several or none.
    """

    def __init__(self, arena: int, timeouts: DoctorTimeouts) -> None:
        self.arena = arena
        self._timeouts = timeouts
        self.seen: list[Seen] = []
        self.line: Visit | None = None
        """The bot's newest connection while it is open."""
        self.slowest_pong = 0.0
        """The longest time that the bot took to answer a ping, in seconds."""
        self._server: Server | None = None
        self._lines = 0
        self._news = asyncio.Event()
        self.reset()

    def reset(self) -> None:
        """Stop changing, delaying and refusing anything."""
        self.from_bot: Callable[[Message], Iterable[Message]] = unchanged
        self.from_arena: Callable[[Message], Iterable[Message]] = unchanged
        self.delays: dict[str, float] = {}
        """Delays in seconds of messages to the bot, by type."""
        self.closes_with: int | None = None
        """The close code for new connections if they are closed at once."""

    async def open(self) -> int:
        """Listen and return the port."""
        self._server = await serve(
            self._serve,
            HOST,
            0,
            subprotocols=SUBPROTOCOLS,
            select_subprotocol=lambda _, offered: next((name for name in offered if name in SUBPROTOCOLS), None),
            compression=None,
            max_size=MAX_SERVER_FRAME,
            ping_interval=None,
            close_timeout=1,
        )
        port: int = next(iter(self._server.sockets)).getsockname()[1]
        return port

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def until(self, found: Callable[[], T | None], within: float) -> T | None:
        """Call `found` after each event until it returns something, and return that; None after `within` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while (it := found()) is None:
                    self._news.clear()
                    await self._news.wait()
                return it
        return None

    def wake(self) -> None:
        """Notify `until` of an event outside the proxy."""
        self._news.set()

    def tell(self, message: Message) -> None:
        """Send the bot a message that the arena did not send."""
        if self.line is not None:
            self.line.to_bot.put_nowait((time.monotonic(), message))

    def ask(self, message: Message) -> None:
        """Send the arena a message that the bot did not send."""
        if self.line is not None:
            self.line.to_arena.put_nowait(message)

    async def hang_up(self, code: int) -> None:
        """Close the bot's connection with a code."""
        if self.line is not None:
            await self.line.wire.close(code)

    def _note(self, line: Visit, by: str, message: Message) -> None:
        self.seen.append(Seen(time.monotonic(), line.number, by, message))
        self._news.set()

    async def _serve(self, wire: ServerConnection) -> None:
        self._lines += 1
        line = Visit(self._lines, wire)
        self._note(line, RELAY, {"type": "opened"})
        try:
            if self.closes_with is not None:
                await wire.close(self.closes_with)
                return
            self.line = line
            upstream = await self._reach(wire.subprotocol)
            async with upstream:
                await until_first(
                    self._hear_bot(line),
                    self._hear_arena(line, upstream),
                    self._tell_bot(line),
                    self._tell_arena(line, upstream),
                    self._ping(line),
                )
                code = upstream.close_code
            if code is not None and code not in (NO_CODE, BROKEN):
                await wire.close(code)
        except (OSError, TimeoutError, ConnectionClosed):
            wire.transport.abort()
        finally:
            if self.line is line:
                self.line = None
            self._note(line, RELAY, {"type": "closed"})

    async def _reach(self, subprotocol: Subprotocol | None) -> ClientConnection:
        """Connect to the arena, with retries while it restarts. Raises `TimeoutError`."""
        async with asyncio.timeout(self._timeouts.arena_timeout_s):
            while True:
                with contextlib.suppress(OSError, InvalidHandshake, ConnectionClosed):
                    return await connection_to(self.arena, subprotocol)
                await asyncio.sleep(0.1)

    async def _hear_bot(self, line: Visit) -> None:
        async for frame in line.wire:
            message = _read(frame)
            self._note(line, BOT, message)
            for passed in self.from_bot(message):
                line.to_arena.put_nowait(passed)

    async def _hear_arena(self, line: Visit, upstream: ClientConnection) -> None:
        async for frame in upstream:
            message = _read(frame)
            if message.get("seek") == OWN_SEEK:
                del message["seek"]
            for passed in self.from_arena(message):
                due = time.monotonic() + self.delays.get(passed["type"], 0.0)
                line.to_bot.put_nowait((due, passed))
        await line.to_bot.join()  # deliver everything that came before the end

    async def _tell_bot(self, line: Visit) -> None:
        while True:
            due, message = await line.to_bot.get()
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            self._note(line, ARENA, message)
            await line.wire.send(_frame(message, line.wire.subprotocol))
            line.to_bot.task_done()

    async def _tell_arena(self, line: Visit, upstream: ClientConnection) -> None:
        while True:
            await upstream.send(_frame(await line.to_arena.get(), line.wire.subprotocol))

    async def _ping(self, line: Visit) -> None:
        while True:
            sent = time.monotonic()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timeouts.pong_timeout_s):
                    await (await line.wire.ping())
            if not line.silent:
                self.slowest_pong = max(self.slowest_pong, time.monotonic() - sent)
            await asyncio.sleep(PING_EVERY)


def _read(frame: Frame) -> Message:
    """Decode a frame as a map; anything else becomes a message that the arena refuses in its own words."""
    try:
        read = msgspec.json.decode(frame) if isinstance(frame, str) else msgspec.msgpack.decode(frame)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"type": "no message"}


def _frame(message: Message, subprotocol: str | None) -> Frame:
    if subprotocol == JSON.subprotocol:
        return msgspec.json.encode(message).decode()
    return msgspec.msgpack.encode(message)
