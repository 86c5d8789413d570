"""The messages between a bot and an arena, written down and changed on their way: a WebSocket to either side."""

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
"""How a connection ended that nobody closed with a code."""
PING_EVERY = 0.25
SUBPROTOCOLS = [Subprotocol(JSON.subprotocol), Subprotocol(MSGPACK.subprotocol)]
BOT, ARENA, RELAY = "bot", "arena", "relay"
OWN_SEEK = "doctor"
"""The id of a seek that the relay makes for a bot that seeks nothing: such a bot is told of an assigned match."""


class Seen(NamedTuple):
    """What was said, by whom, on which of the bot's connections, when in seconds of the monotonic clock."""

    at: float
    line: int
    by: str
    message: Message

    @property
    def type(self) -> str:
        """The kind of message; of the relay's own words `opened` or `closed`."""
        return str(self.message.get("type"))


class Visit:
    """One connection of the bot, with what is to be sent on it either way."""

    def __init__(self, number: int, wire: ServerConnection) -> None:
        self.number = number
        self.wire = wire
        self.silent = False
        """Whether nothing comes through, so that it is no wonder that pings are not answered."""
        self.to_bot: asyncio.Queue[tuple[float, Message]] = asyncio.Queue()
        self.to_arena: asyncio.Queue[Message] = asyncio.Queue()


def connection_to(port: int, subprotocol: Subprotocol | None) -> connect:
    """A connection to the arena on a port of this machine, to be awaited or entered."""
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
    """What a message becomes where nothing is done to it."""
    return [message]


class WebSocketProxy:
    """Serves bots on a port of its own and passes their messages to `arena`, a port, and back.

    `from_bot` and `from_arena` say what becomes of a message: other messages, several, or none.
    """

    def __init__(self, arena: int, timeouts: DoctorTimeouts) -> None:
        self.arena = arena
        self._timeouts = timeouts
        self.seen: list[Seen] = []
        self.line: Visit | None = None
        """The bot's newest connection, while it is open."""
        self.slowest_pong = 0.0
        """Seconds that the bot took at most to answer a ping."""
        self._server: Server | None = None
        self._lines = 0
        self._news = asyncio.Event()
        self.reset()

    def reset(self) -> None:
        """Do nothing to what is said."""
        self.from_bot: Callable[[Message], Iterable[Message]] = unchanged
        self.from_arena: Callable[[Message], Iterable[Message]] = unchanged
        self.delays: dict[str, float] = {}
        """Seconds that messages to the bot are late, by their type."""
        self.closes_with: int | None = None
        """The close code of every new connection, if they are closed at once."""

    async def open(self) -> int:
        """Take connections; the port."""
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
        """End everything."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def until(self, found: Callable[[], T | None], within: float) -> T | None:
        """What `found` finds, looked for whenever something happened; None if it finds nothing in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while (it := found()) is None:
                    self._news.clear()
                    await self._news.wait()
                return it
        return None

    def wake(self) -> None:
        """Something happened elsewhere that `until` may look for."""
        self._news.set()

    def tell(self, message: Message) -> None:
        """Say something to the bot that the arena did not say."""
        if self.line is not None:
            self.line.to_bot.put_nowait((time.monotonic(), message))

    def ask(self, message: Message) -> None:
        """Say something to the arena that the bot did not say."""
        if self.line is not None:
            self.line.to_arena.put_nowait(message)

    async def hang_up(self, code: int) -> None:
        """Close the bot's connection."""
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
        """The arena, which may be away for a moment. Raises `TimeoutError`."""
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
        await line.to_bot.join()  # what was said before the end is told before it

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
    """A frame as a map. What is none becomes one that the arena will refuse in its own words."""
    try:
        read = msgspec.json.decode(frame) if isinstance(frame, str) else msgspec.msgpack.decode(frame)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"type": "no message"}


def _frame(message: Message, subprotocol: str | None) -> Frame:
    if subprotocol == JSON.subprotocol:
        return msgspec.json.encode(message).decode()
    return msgspec.msgpack.encode(message)
