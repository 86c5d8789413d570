"""A WebSocket connection that sends without waiting, limits its buffers, and asks the kernel how long input waited
unread.

It overrides internals of the websockets library, so pyproject.toml pins the library's version.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from websockets.asyncio.server import ServerConnection
from websockets.frames import DATA_OPCODES, CloseCode, Opcode
from websockets.frames import Frame as WebSocketFrame
from websockets.protocol import State

from arena.network.connection_limits import ConnectionSlot
from arena.network.fair_scheduler import CpuBudget, FairScheduler
from arena.network.flusher import Flusher
from arena.network.frames import FastProtocol, make_frame
from arena.network.timeouts import NetworkTimeouts
from arena.network.tls import TLS_PREFIX, TlsMismatchLog
from protocol.close_codes import READS_TOO_SLOWLY
from protocol.codec import Frame

# These opcodes and states are enum members. Looking a member up in its class would cost as much as a call.
BINARY_OPCODE, TEXT_OPCODE, CONTINUATION_OPCODE, PONG_OPCODE = Opcode.BINARY, Opcode.TEXT, Opcode.CONT, Opcode.PONG
"""The opcodes of frames with a binary message, with a text message, with the continuation of a message, and with a
pong.
"""
CONNECTING_STATE, OPEN_STATE = State.CONNECTING, State.OPEN
"""These are states of a WebSocket connection: `CONNECTING_STATE` before its handshake is complete, `OPEN_STATE` after
that.
"""
MAX_WRITE_BUFFER_BYTES, MAX_TOTAL_WRITE_BUFFER_BYTES = 4 * 1024 * 1024, 256 * 1024 * 1024
"""`MAX_WRITE_BUFFER_BYTES` is the maximum number of sent bytes that one client may leave unread,
`MAX_TOTAL_WRITE_BUFFER_BYTES` the maximum for all clients together. Beyond the latter, clients above
`SOFT_WRITE_BUFFER_BYTES` are cut off.
"""
SOFT_WRITE_BUFFER_BYTES = 256 * 1024
"""Number of unread bytes up to which a client is spared when all clients together exceed
`MAX_TOTAL_WRITE_BUFFER_BYTES`. Clients with more unread bytes are then cut off.
"""
STALL_THRESHOLD_S = 0.01
"""Seconds of a pause after which the event loop counts as delayed, so that written frames are checked for lateness."""
READ_CHUNK_BYTES = 512
"""The bytes of input that are processed before the clock is checked. Some 80 of the smallest frames have this size, and
take half a millisecond.
"""
TIME_SLICE_S = 0.0005
"""Seconds after which a connection's turn to process input ends, even if more input waits."""
RECV_BUFFER_BYTES = 64 * 1024
"""The size in bytes of the kernel's receive buffer of a connection. It is four times the size of the largest frame."""
MAX_EARLY_MESSAGES = 4
"""Maximum number of messages that are kept until `deliver_messages` sets their receiver. Further input is not read
until then, so pings in it are not answered.
"""
SEND_BUFFER_BYTES = 128 * 1024
"""The size in bytes of the kernel's send buffer of a connection. Further output waits in this process, and is counted.
"""
OPEN_COST_S, HELLO_COST_S, TURN_COST_S = 0.0005, 0.001, 0.00005
"""These are seconds of work that are charged to a client in addition to the measured work: `OPEN_COST_S` for a
connection, `HELLO_COST_S` for a `hello`, and `TURN_COST_S` for a turn to process input.
"""
SEND_COST_S_PER_BYTE = 1e-7
"""Seconds charged to a client for each byte sent in reply to input that the arena did not await. Such replies take
bandwidth from other clients.
"""

# New versions of Linux only add fields at the end of `struct tcp_info` (linux/tcp.h).
_LAST_DATA_RECEIVED_FIELD = struct.Struct("=52xI")
"""The format that reads from Linux's `tcp_info` the milliseconds since data last arrived."""
_MIN_ROUND_TRIP_FIELD = struct.Struct("=148xI")
"""The format that reads from Linux's `tcp_info` the minimum round trip time in microseconds."""

log = logging.getLogger("arena.network.connection")


def seconds_unread(transport: asyncio.BaseTransport) -> float | None:
    """Return the seconds since data last arrived at a connection's socket; None if the kernel does not say."""
    milliseconds = _tcp_info(transport, _LAST_DATA_RECEIVED_FIELD)
    return None if milliseconds is None else milliseconds / 1e3


def min_round_trip_s(transport: asyncio.BaseTransport) -> float:
    """Return the shortest round trip of a connection that the kernel has measured, in seconds; 0 if unknown. The TCP
    handshake counts as a round trip.
    """
    return (_tcp_info(transport, _MIN_ROUND_TRIP_FIELD) or 0) / 1e6


def _tcp_info(transport: asyncio.BaseTransport, field: struct.Struct) -> int | None:
    """Return a field of Linux's `tcp_info`; None on other systems, or if the connection is closed."""
    connection = transport.get_extra_info("socket")
    if sys.platform != "linux" or connection is None:
        return None
    try:
        return int(field.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, field.size))[0])
    except (OSError, ValueError, struct.error):  # on uvloop a closed connection's socket has no descriptor
        return None


class CloseInfo(NamedTuple):
    """The end of a connection: close code (None without a close frame), reason, and whether the arena closed it."""

    code: int | None
    reason: str
    by_arena: bool


class Connection(ServerConnection):
    """A WebSocket connection whose input is processed in fair turns. It is cut off if its peer does not read.

    All input is processed in pieces and charged to the connection's CPU budget (see `FairScheduler`). Reading pauses
    while input waits. Only an answer that the arena awaits is free, and is handled before other input.

    The keepalive of the websockets library waits for a peer that does not read, and answers to a flood of pings bypass
    the library's flow control. So this class limits the write buffer, and a pause in writing has a timeout.
    """

    protocol: FastProtocol

    def __init__(
        self,
        protocol: FastProtocol,
        *args: Any,
        scheduler: FairScheduler,
        flusher: Flusher,
        slot: ConnectionSlot,
        tls_mismatch: TlsMismatchLog,
        timeouts: NetworkTimeouts,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            protocol,
            *args,
            ping_interval=timeouts.ping_interval_s,
            ping_timeout=timeouts.pong_timeout_s,
            close_timeout=timeouts.close_timeout_s,
            **kwargs,
        )
        self._timeouts = timeouts
        self._flusher = flusher
        self.slot = slot
        """The connection's slot in the connection limits."""
        self._write_timeout: asyncio.TimerHandle | None = None
        self._has_given_up = False
        self._unread_by_peer = 0
        self._is_flush_queued = False
        self._flushed_at = 0.0
        self.on_late_write: Callable[[float, float], None] | None = None
        """A function called with the times of the previous write and of this write, if the event loop delayed this
        write for too long.
        """
        self._tls_mismatch = tls_mismatch
        self._scheduler = scheduler
        self._clock = scheduler.clock
        self._address = ""
        self._unread = bytearray()
        self._is_queued = self._is_queued_ahead = False
        """`_is_queued` is true while unread input waits for its fair turn, `_is_queued_ahead` while it waits for a turn
        ahead of other clients' input.
        """
        self._is_reading = True
        self._cpu_budget: CpuBudget
        self._ahead_budget = scheduler.make_priority_budget()
        """The budget for input that was processed ahead of other clients' input because it might be awaited, but was
        not.
        """
        self._partial_message = bytearray()
        """The parts of a fragmented message that have arrived so far."""
        self._is_partial_text = False
        self._early_messages: deque[Frame] = deque()
        """The messages that arrived before `deliver_messages` is called. After `MAX_EARLY_MESSAGES`, reading stops
        until then.
        """
        self._first_arrived: asyncio.Future[None] = self.loop.create_future()
        self._receive: Callable[[Frame], bool] | None = None
        self._awaited: Collection[object] = ()
        self._awaited_count = self._unawaited_count = self._pushed_bytes = 0
        """Counts in the piece of input being processed: `_awaited_count` of messages that the arena awaits,
        `_unawaited_count` of other messages, and `_pushed_bytes` of bytes sent in reply.
        """

    @property
    def address(self) -> str:
        """The address under which limits count this connection. Behind a proxy, it is "" until the request is read."""
        return self._address

    @address.setter
    def address(self, address: str) -> None:
        if address != self._address:
            self._scheduler.change_address(self._cpu_budget, self._address, address)
            self._address = address

    async def receive_first(self) -> Frame:
        """Return the first message of the connection. Raise `ConnectionClosed` if it ends before that."""
        await asyncio.wait([self._first_arrived, self.connection_lost_waiter], return_when=asyncio.FIRST_COMPLETED)
        if not self._early_messages:
            raise self.close_exc
        self._cpu_budget.charge(HELLO_COST_S, self._clock())
        message = self._early_messages.popleft()
        self._schedule_reading()
        return message

    async def deliver_messages(self, receive: Callable[[Frame], bool], awaited: Collection[object]) -> None:
        """Pass each message from now on to `receive`, until the connection is closed.

        `receive` returns whether the arena awaited the message. The arena keeps the collection `awaited` up to date: it
        is empty if no message is awaited.
        """
        self._receive, self._awaited = receive, awaited
        now = self._clock()
        while self._early_messages:
            receive(self._early_messages.popleft())
        self._cpu_budget.charge(self._clock() - now, now)
        self._schedule_reading()
        await self.wait_closed()

    def charge(self, seconds: float) -> None:
        """Charge the client's CPU budget for `seconds` of work that it causes, but that is done elsewhere or later."""
        self._cpu_budget.charge(seconds, self._clock())

    def run_in_turns(self, pieces: Iterator[None]) -> None:
        """Run work that this client causes, one piece in each of the client's fair turns. The first piece may run
        now.
        """

        def work() -> None:
            began = self._clock()
            more = False
            try:
                more = next(pieces, self) is None
            except Exception:
                log.exception("a task for a client failed")
            now = self._clock()
            self._cpu_budget.charge(now - began, now)
            if more:
                self._cpu_budget.request_turn(work)

        self._cpu_budget.request_turn(work)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._address = "" if self.slot.is_proxy else self.slot.address
        self._cpu_budget = self._scheduler.open_budget(self._address)
        self._cpu_budget.charge(OPEN_COST_S, self._clock())
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECV_BUFFER_BYTES)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        # Nearly all moves take this path, so each call here adds to the cost of a ply.
        size = len(data)
        self._scheduler.received_bytes += size
        if self._awaited and not self._unread and size <= READ_CHUNK_BYTES:
            now = self._clock()
            if self._cpu_budget.throttled_until <= now and self._ahead_budget.throttled_until <= now:
                message = self.protocol.try_decode(data)
                if message is None:
                    self._process_piece(data, now, ahead=True)
                    return
                self._pushed_bytes = 0
                assert self._receive is not None
                try:
                    asked = self._receive(message)
                except Exception:
                    self._fail()
                    asked = False
                if not asked:
                    self._charge(now, self._clock(), ahead=True)
                return
        if self.protocol.state is CONNECTING_STATE and data.startswith(TLS_PREFIX):  # no HTTP request starts like this
            self._tls_mismatch.log_unexpected_tls(self.slot.address)
            self.transport.abort()
            return
        self._unread += data
        self._schedule_reading()

    def _fail(self) -> None:
        log.exception("a message could not be handled")
        self.start_close(CloseCode.INTERNAL_ERROR, "the arena failed")

    def _charge(self, began: float, now: float, *, ahead: bool) -> None:
        self._cpu_budget.charge(now - began, now, self._pushed_bytes * SEND_COST_S_PER_BYTE)
        if ahead:
            self._ahead_budget.charge(now - began, now)

    def process_event(self, event: Any) -> None:
        if not isinstance(event, WebSocketFrame):
            super().process_event(event)
        elif event.opcode is BINARY_OPCODE and event.fin:
            self._handle_message(bytes(event.data))
        elif event.opcode in DATA_OPCODES:
            self._add_fragment(event)
        else:
            if event.opcode is PONG_OPCODE and bytes(event.data) in self.pending_pings:
                self._awaited_count += 1
            else:
                self._unawaited_count += 1
            super().process_event(event)

    def eof_received(self) -> None:
        self._unread.clear()
        super().eof_received()

    def _is_awaited(self, now: float) -> bool:
        """Return whether the arena awaits a message of this client and the client's CPU budgets are not used up."""
        return (
            bool(self._awaited)
            and self._cpu_budget.throttled_until <= now
            and self._ahead_budget.throttled_until <= now
        )

    @property
    def _must_hold_input(self) -> bool:
        """True if input must wait, because `MAX_EARLY_MESSAGES` messages already wait for their receiver."""
        return (
            len(self._early_messages) >= MAX_EARLY_MESSAGES
            and self._receive is None
            and self.protocol.state is OPEN_STATE
        )

    def _schedule_reading(self) -> None:
        """Schedule a turn for unread input. It comes before the input of other clients if the arena awaits a message of
        this client. Reading from the socket pauses while there is unread input.
        """
        if self._unread and not self._must_hold_input:
            if not self._is_queued_ahead and self._is_awaited(self._clock()):
                self._is_queued_ahead = True
                self.loop.call_soon(self._process_unread, True)
            elif not (
                self._is_queued_ahead or self._is_queued or self.paused
            ):  # a client that does not read gets no turn
                self._is_queued = True
                self._cpu_budget.request_turn(self._process_unread)
        if self._is_reading != (not self._unread) and not self.transport.is_closing():
            self._is_reading = not self._unread
            (self.transport.resume_reading if self._is_reading else self.transport.pause_reading)()

    def _process_unread(self, ahead: bool = False) -> None:
        """Process pieces of unread input for one turn, and leave the rest for the next turn."""
        if ahead:
            self._is_queued_ahead = False
        else:
            self._is_queued = False
        now = self._clock()
        ends = now + TIME_SLICE_S
        if self._unread:
            self._cpu_budget.charge(TURN_COST_S, now)
        while self._unread and now < ends and not self._must_hold_input:
            if ahead and not self._is_awaited(now):
                break
            piece = bytes(self._unread[:READ_CHUNK_BYTES])
            del self._unread[:READ_CHUNK_BYTES]
            now = self._process_piece(piece, now, ahead=ahead)
        self._schedule_reading()

    def _process_piece(self, piece: bytes, began: float, *, ahead: bool) -> float:
        """Process a piece of input from the time `began` on, and return the time at which this ends. Charge the client
        for the work, except if the arena awaited all input in the piece.
        """
        self._awaited_count = self._unawaited_count = self._pushed_bytes = 0
        try:
            super().data_received(piece)
        except Exception:
            self._fail()
        now = self._clock()
        if self._unawaited_count or not self._awaited_count:
            self._charge(began, now, ahead=ahead)
        return now

    def _add_fragment(self, part: WebSocketFrame) -> None:
        """Add a part to a fragmented message, and handle the message if it is complete. A text message in a single
        frame is handled here too.
        """
        if part.opcode is not CONTINUATION_OPCODE:
            self._is_partial_text = part.opcode is TEXT_OPCODE
        self._partial_message += part.data
        if not part.fin:
            self._unawaited_count += 1
            return
        message, self._partial_message = bytes(self._partial_message), bytearray()
        try:
            self._handle_message(message.decode() if self._is_partial_text else message)
        except UnicodeDecodeError as exc:
            self.start_close(CloseCode.INVALID_DATA, f"{exc.reason} at position {exc.start}")

    def _handle_message(self, message: Frame) -> None:
        if self._receive is None:
            self._unawaited_count += 1
            self._early_messages.append(message)
            if not self._first_arrived.done():
                self._first_arrived.set_result(None)
        elif self._receive(message):
            self._awaited_count += 1
        else:
            self._unawaited_count += 1

    @property
    def is_gone(self) -> bool:
        """True if the connection is closed or closing."""
        return self.protocol.state is not OPEN_STATE

    @property
    def close_info(self) -> CloseInfo:
        if self._has_given_up:
            return CloseInfo(READS_TOO_SLOWLY, "does not read", by_arena=True)
        sent, received = self.protocol.close_sent, self.protocol.close_rcvd
        if sent is not None and not self.protocol.close_rcvd_then_sent:
            return CloseInfo(sent.code, sent.reason, by_arena=True)
        if received is None:
            return CloseInfo(None, "", by_arena=False)
        return CloseInfo(received.code, received.reason, by_arena=False)

    def send_frame(self, frame: Frame) -> None:
        """Send a message as one frame. Do nothing on a closed connection, whose end is reported elsewhere."""
        self.send_framed(make_frame(frame))

    def send_framed(self, data: bytes) -> None:
        """Send frames made by `make_frame`. Do nothing on a closed connection."""
        protocol = self.protocol
        if protocol._state is OPEN_STATE:
            size = len(data)
            self._pushed_bytes += size
            self._scheduler.sent_bytes += size
            protocol.writes.append(data)
            if not self._is_flush_queued:
                self._is_flush_queued = True
                self._flusher.register(self)

    def flush(self, queued: float, now: float) -> None:
        """Write all frames that were sent in this turn of the event loop together, so that the peer wakes up once."""
        self._is_flush_queued = False
        if self.transport.is_closing():  # it closed in the meantime: uvloop raises if a closed transport is written to
            return
        self.send_data()
        if now - queued > STALL_THRESHOLD_S and self.on_late_write is not None:
            self.on_late_write(self._flushed_at, now)
        self._flushed_at = now
        if self._is_queued and self._awaited:  # an awaited answer must not wait for its turn behind other input
            self._schedule_reading()
        if self.paused:
            self._limit_write_buffer(self.transport.get_write_buffer_size())

    def send_data(self) -> None:
        writes = self.protocol.writes
        try:
            if len(writes) == 1 and writes[0]:
                self.transport.write(writes.pop())
            else:
                super().send_data()
        except RuntimeError:  # raised by uvloop on a closed connection, whose end is reported elsewhere
            if not self.transport.is_closing():
                raise

    def _limit_write_buffer(self, size: int) -> None:
        """Count the sent bytes that the peer has left unread, and close the connection if they are too many."""
        self._scheduler.unread_bytes += size - self._unread_by_peer
        self._unread_by_peer = size
        if size > MAX_WRITE_BUFFER_BYTES or (
            size > SOFT_WRITE_BUFFER_BYTES and self._scheduler.unread_bytes > MAX_TOTAL_WRITE_BUFFER_BYTES
        ):
            self.start_close(READS_TOO_SLOWLY, "does not read fast enough")

    @property
    def round_trip_s(self) -> float:
        """The minimum round trip time of the connection in seconds; 0 if unknown."""
        return min_round_trip_s(self.transport)

    @property
    def unread_s(self) -> float | None:
        """The seconds for which the last input had waited unread; None if unknown.

        It counts as 0 if the input came within `STALL_THRESHOLD_S` of the last write, or if the event loop polled the
        socket within that time. Otherwise the kernel is asked.
        """
        now = self.loop.time()
        if now - self._flushed_at < STALL_THRESHOLD_S or (
            self._is_reading and now - self._flusher.polled_at < STALL_THRESHOLD_S
        ):
            return 0.0
        return seconds_unread(self.transport)

    def start_close(self, code: int, reason: str) -> None:
        """Start the closing handshake. Cut off a peer that does not finish it in time."""
        if self.protocol.state is not OPEN_STATE:
            return
        self.protocol.send_close(code, reason)
        self.send_data()
        self.loop.call_later(self._timeouts.close_timeout_s, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timeout = self.loop.call_later(self._timeouts.write_timeout_s, self._give_up)

    def _give_up(self) -> None:
        self._has_given_up = True
        self.transport.abort()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timeout is not None:
            self._write_timeout.cancel()
            self._write_timeout = None
        self._limit_write_buffer(0)
        self._schedule_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._write_timeout is not None:
            self._write_timeout.cancel()
        self._unread.clear()
        self._limit_write_buffer(0)
        self._scheduler.remove_connection(self._address)
        self.slot.release()
        super().connection_lost(exc)
