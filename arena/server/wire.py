"""One WebSocket: frames in and out without waiting, back-pressure, and how long a frame is under way.

It overrides what websockets does not promise to keep; so the library's version is held in pyproject.toml.
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

from arena.server.addresses import address_of
from protocol.close_codes import READS_TOO_SLOWLY
from protocol.codec import Frame

BINARY, OPEN = Opcode.BINARY, State.OPEN  # a member looked up in its class costs a call
MOST_UNREAD = 4 * 1024 * 1024
STALLED_AFTER = 20.0
FAREWELL = 1.0


class Wire(ServerConnection):
    """A WebSocket that is written without waiting and cut off when the peer does not read.

    websockets' own keep-alive waits for a stalled reader, and answers to a flood of pings bypass its flow control; so
    the buffer is bounded here, and a pause in writing has a time limit.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stalled: asyncio.TimerHandle | None = None
        self.address = ""
        """Whose connection it is, as addresses are counted; behind a trusted proxy known once the request was read."""
        self.round_trip = 0.0
        """Seconds that a frame needs there and back: the least of the recent pings, 0 before the first."""
        self._latencies: deque[float] = deque(maxlen=5)
        self._flushing = False
        self.receive: Callable[[bytes], None] | None = None
        """Takes binary frames as they come in, without a task in between; set by the session."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        self.address = address_of(peer[0]) if peer else ""
        super().connection_made(transport)

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
