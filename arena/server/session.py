"""One connection: frames to messages and back, back-pressure, and the count of bad messages.

A session never waits: what it sends goes to the socket's buffer, and a peer that does not read is dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.frames import DATA_OPCODES, Opcode
from websockets.frames import Frame as WebSocketFrame
from websockets.protocol import State

from protocol.codec import Codec, Frame
from protocol.errors import BotFault, MalformedMessage
from protocol.messages import MAX_BAD_MESSAGES, MAX_SLOTS, ClientMessage, End, Error, FromServer, Hello, Rejected

BINARY, OPEN = Opcode.BINARY, State.OPEN  # a member looked up in its class costs a call
MOST_UNREAD = 4 * 1024 * 1024
STALLED_AFTER = 20.0
FAREWELL = 1.0

TOO_MANY_BAD_MESSAGES = 4000
NOT_AUTHENTICATED = 4001
NO_HELLO = 4002
SUPERSEDED = 4003
TOO_MANY_CONNECTIONS = 4004
READS_TOO_SLOWLY = 4005

_BAD_REJECTIONS = frozenset({"not_your_turn", "stale_ply", "no_such_match"})


class Wire(ServerConnection):
    """A WebSocket that is written without waiting and cut off when the peer does not read.

    websockets' own keep-alive waits for a stalled reader, and answers to a flood of pings bypass its flow control; so
    the buffer is bounded here, and a pause in writing has a time limit.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stalled: asyncio.TimerHandle | None = None
        self.round_trip = 0.0
        """Seconds that a frame needs there and back: the least of the recent pings, 0 before the first."""
        self._latencies: deque[float] = deque(maxlen=5)
        self._flushing = False
        self.receive: Callable[[bytes], None] | None = None
        """Takes binary frames as they come in, without a task in between; set by the session."""

    def process_event(self, event: Any) -> None:
        if self.receive is not None and isinstance(event, WebSocketFrame):
            if event.opcode is BINARY and event.fin:
                self.receive(bytes(event.data))
                return
            if event.opcode in DATA_OPCODES:  # text and fragments take the library's way, and so must all that follows
                self.receive = None
        super().process_event(event)

    def push(self, frame: Frame) -> None:
        """Send a frame. On a connection that is no longer open nothing happens: its end is told elsewhere."""
        if self.protocol.state is not OPEN:
            return
        if isinstance(frame, bytes):
            self.protocol.send_binary(frame)
        else:
            self.protocol.send_text(frame.encode())
        if not self._flushing:
            self._flushing = True
            self.loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Write what this turn of the event loop sent. Answers go out together, so a sleeping peer is woken once."""
        self._flushing = False
        self.send_data()
        if self.transport.get_write_buffer_size() > MOST_UNREAD:
            self.drop(READS_TOO_SLOWLY, "does not read fast enough")

    def drop(self, code: int, reason: str) -> None:
        """Start the closing handshake; a peer that does not finish it within a second is cut off."""
        if self.protocol.state is not OPEN:
            return
        self.protocol.send_close(code, reason)
        self.send_data()
        self.loop.call_later(FAREWELL, self.transport.abort)

    def acknowledge_pings(self, data: bytes) -> None:
        super().acknowledge_pings(data)
        self._latencies.append(self.latency)
        self.round_trip = min(self._latencies)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(STALLED_AFTER, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.paused and self.transport.get_write_buffer_size() > MOST_UNREAD:
            self.transport.abort()
            return
        super().data_received(data)


Action = Callable[["Session", ClientMessage], None]


class Session:
    """A client that has said hello. `bot` is None for a watcher."""

    def __init__(self, wire: Wire, codec: Codec, hello: Hello, bot: str | None, act: Action) -> None:
        self.wire = wire
        self.bot = bot
        self.version = hello.version
        self.slots = hello.slots
        self.follow = hello.follow
        self._codec = codec
        self._act = act
        self._bad = 0
        self._closed = False
        self._ended: deque[str] = deque(maxlen=2 * MAX_SLOTS)
        wire.receive = self.receive

    def send(self, message: FromServer) -> None:
        """Send a message; a rejection that the peer should have avoided counts as a bad message."""
        self.wire.push(self._codec.encode(message))
        if type(message) is End:
            self._ended.append(message.match)
        elif type(message) is Rejected and message.code in _BAD_REJECTIONS and message.match not in self._ended:
            self._count()  # a move may cross with the end of its match, but no other rejection is innocent

    def receive(self, frame: Frame) -> None:
        """Act on one frame. Whatever is wrong with it is answered, and counted. After `close` nothing is acted on."""
        if self._closed:
            return
        ref = None
        try:
            message = self._codec.decode_client(frame)
            ref = getattr(message, "id", None)
            self._act(self, message)
        except BotFault as fault:
            if isinstance(fault, MalformedMessage):
                ref = ref or fault.ref
            self.send(Error(code=fault.code, message=str(fault), ref=ref))
            if isinstance(fault, MalformedMessage):
                self._count()

    def close(self, code: int, reason: str) -> None:
        """Close the connection. What the peer sent before it heard of that comes too late."""
        self._closed = True
        self.wire.drop(code, reason)

    def _count(self) -> None:
        self._bad += 1
        if self._bad == MAX_BAD_MESSAGES:
            message = f"{self._bad} bad messages on one connection"
            self.send(Error(code="bad_message", message=message, fatal=True))
            self.close(TOO_MANY_BAD_MESSAGES, "too many bad messages")


def refuse(wire: Wire, codec: Codec, fault: BotFault, close_code: int) -> None:
    """Answer a handshake that failed, and close."""
    wire.push(codec.encode(Error(code=fault.code, message=str(fault), fatal=True)))
    wire.drop(close_code, fault.code)
