"""A WebSocket connection that sends without waiting, limits its buffers, and asks the kernel how long input waited
unread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol, cast

from websockets.frames import CloseCode, Opcode
from websockets.frames import Frame as WebSocketFrame
from websockets.http11 import Request, Response
from websockets.protocol import Event, State
from websockets.server import ServerProtocol

from arena.network.connection_limits import ConnectionSlot
from arena.network.fair_scheduler import CpuBudget, FairScheduler
from arena.network.flusher import Flusher
from arena.network.frames import FastProtocol, make_frame
from arena.network.tcp_info import min_round_trip_s, seconds_unread
from arena.network.timeouts import NetworkTimeouts
from arena.network.tls import TLS_PREFIX, TlsMismatchLog
from machine.event_loop import call_after_reading
from protocol.close_codes import PEER_LOSS, READS_TOO_SLOWLY
from protocol.codec import Frame

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
PAUSE_WRITING_BYTES = 32 * 1024
"""The bytes of output waiting in this process from which the client counts as one that does not read."""
OPEN_COST_S, HELLO_COST_S, TURN_COST_S = 0.0005, 0.001, 0.00005
"""These are seconds of work that are charged to a client in addition to the measured work: `OPEN_COST_S` for a
connection, `HELLO_COST_S` for a `hello`, and `TURN_COST_S` for a turn to process input.
"""
SEND_COST_S_PER_BYTE = 1e-7
"""Seconds charged to a client for each byte sent in reply to input that the arena did not await. Such replies take
bandwidth from other clients.
"""

log = logging.getLogger("arena.network.connection")


class CloseInfo(NamedTuple):
    """The end of a connection: close code (None without a close frame), reason, and whether the arena closed it."""

    code: int | None
    reason: str
    by_arena: bool


class Receiver(Protocol):
    """The receiver of a connection's messages."""

    @property
    def awaited(self) -> Collection[object]:
        """The messages that the arena awaits from the client now; empty if there are none."""

    def receive(self, frame: Frame) -> bool:
        """Handle a message. Return whether the arena awaited it."""

    def on_late_write(self, previous: float, now: float) -> None:
        """Handle a write that came too late because the event loop was delayed. The arguments are the times of the
        previous write and of this write.
        """


class Connection(asyncio.Protocol):
    """A WebSocket connection whose input is processed in fair turns. It is cut off if its peer does not read.

    All input is processed in pieces and charged to the connection's CPU budget (see `FairScheduler`). Reading pauses
    while input waits. Only an answer that the arena awaits is free, and is handled before other input.

    The connection reads one HTTP request (`receive_request`), and messages once `respond` has accepted it.
    `on_connected` is called when its transport is ready. Pings are answered even to a peer that does not read, so the
    write buffer is limited, and a pause in writing has a timeout.
    """

    __slots__ = (
        "_address", "_ahead_budget", "_awaited_count", "_awaited_pong", "_clock", "_close_timeout", "_cpu_budget",
        "_early_messages", "_ended", "_first_message", "_flushed_at", "_flusher", "_has_given_up", "_is_answered",
        "_is_flush_queued", "_is_partial_text", "_is_queued", "_is_queued_ahead", "_is_reading", "_keepalive_timer",
        "_loop", "_on_connected", "_partial_message", "_pinged_at", "_pushed_bytes", "_receiver", "_request",
        "_scheduler", "_timeouts", "_tls_mismatch", "_unawaited_count", "_unread", "_unread_by_peer",
        "_write_timeout", "is_write_paused", "protocol", "slot", "subprotocol", "transport",
    )  # fmt: skip  # with more than 30 attributes, an instance without slots is slow in Python 3.11
    transport: asyncio.Transport

    def __init__(
        self,
        protocol: FastProtocol,
        on_connected: Callable[[Connection], object],
        scheduler: FairScheduler,
        flusher: Flusher,
        slot: ConnectionSlot,
        tls_mismatch: TlsMismatchLog,
        timeouts: NetworkTimeouts,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_connected = on_connected
        self.protocol = protocol
        self.subprotocol: str | None = None
        """The subprotocol of an open connection; None if it has none."""
        self._timeouts = timeouts
        self._flusher = flusher
        self.slot = slot
        """The connection's slot in the connection limits."""
        self._write_timeout: asyncio.TimerHandle | None = None
        self._close_timeout: asyncio.TimerHandle | None = None
        self._keepalive_timer: asyncio.TimerHandle | None = None
        """The timer for the next ping, or for the pong that answers the last one."""
        self._awaited_pong = b""
        """The payload of the pong that answers the last ping; empty if none is awaited."""
        self._pinged_at = 0.0
        self._has_given_up = False
        self.is_write_paused = False
        """True while the client leaves too much output unread."""
        self._unread_by_peer = 0
        self._is_flush_queued = False
        self._flushed_at = 0.0
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
        self._request: asyncio.Future[Request | None] = self._loop.create_future()
        """The HTTP request; None if the connection ended before it was complete."""
        self._is_answered = False
        self._first_message: asyncio.Future[Frame | None] = self._loop.create_future()
        """The first message; None if the connection ended before that."""
        self._early_messages: deque[Frame] = deque()
        """The other messages that arrived before `deliver_messages` is called. After `MAX_EARLY_MESSAGES`, reading
        stops until then.
        """
        self._ended = asyncio.Event()
        self._receiver: Receiver | None = None
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

    async def receive_request(self) -> Request | None:
        """Return the HTTP request of the connection; None if it ends before that."""
        return await self._request

    def respond(self, request: Request, refusal: Response | None) -> None:
        """Answer the HTTP request: with `refusal`, or by opening the WebSocket. Input behind the request waits for
        this.
        """
        self.subprotocol = self.protocol.respond(request, refusal)
        self._is_answered = True
        self._write_replies()
        if self.protocol.is_open:
            self._keepalive_timer = self._loop.call_later(self._timeouts.ping_interval_s, self._send_ping)
        else:
            self._schedule_reading()

    def set_max_message_bytes(self, size: int) -> None:
        """Set the maximum size of a message. Call this before the first message is read."""
        self.protocol = FastProtocol(ServerProtocol(state=State.OPEN, max_size=size))

    def set_keepalive(self, ping_interval_s: float, pong_timeout_s: float) -> None:
        """Change how the connection is watched, and send a ping soon."""
        self._timeouts = replace(self._timeouts, ping_interval_s=ping_interval_s, pong_timeout_s=pong_timeout_s)
        if self._keepalive_timer is not None and not self._awaited_pong:
            self._start_next_ping()

    async def receive_first(self) -> Frame | None:
        """Return the first message of the connection; None if it ends before that."""
        self._schedule_reading()
        message = await self._first_message
        self._cpu_budget.charge(HELLO_COST_S, self._clock())
        return message

    async def deliver_messages(self, receiver: Receiver) -> None:
        """Pass each message from now on to `receiver`, until the connection is closed."""
        self._receiver = receiver
        now = self._clock()
        while self._early_messages:
            receiver.receive(self._early_messages.popleft())
        self._cpu_budget.charge(self._clock() - now, now)
        self._schedule_reading()
        await self.wait_closed()

    async def wait_closed(self) -> None:
        """Wait until the connection has ended."""
        await self._ended.wait()

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
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(PAUSE_WRITING_BYTES)
        self._address = "" if self.slot.is_proxy else self.slot.address
        self._cpu_budget = self._scheduler.open_budget(self._address)
        self._cpu_budget.charge(OPEN_COST_S, self._clock())
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECV_BUFFER_BYTES)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self._on_connected(self)

    def data_received(self, data: bytes) -> None:
        # Nearly all moves take this path, so each call here adds to the cost of a ply.
        size = len(data)
        self._scheduler.received_bytes += size
        receiver = self._receiver
        if receiver is not None and receiver.awaited and not self._unread and size <= READ_CHUNK_BYTES:
            clock = self._clock
            now = clock()
            if self._cpu_budget.throttled_until <= now and self._ahead_budget.throttled_until <= now:
                message = self.protocol.try_decode(data)
                if message is None:
                    self._process_piece(data, now, ahead=True)
                    return
                self._pushed_bytes = 0
                try:
                    asked = receiver.receive(message)
                except Exception:
                    self._fail()
                    asked = False
                if not asked:
                    self._charge(now, clock(), ahead=True)
                return
        if not self._is_answered and data.startswith(TLS_PREFIX):  # no HTTP request starts like this
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

    def _process_event(self, event: Event) -> None:
        if not isinstance(event, WebSocketFrame):
            assert isinstance(event, Request)
            if not self._request.done():
                self._request.set_result(event)
        elif event.opcode is Opcode.BINARY and event.fin:
            self._handle_message(bytes(event.data))
        elif event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            self._add_fragment(event)
        elif event.opcode is Opcode.PONG and self._awaited_pong and event.data == self._awaited_pong:
            self._awaited_count += 1
            self._start_next_ping()
        else:
            self._unawaited_count += 1

    def eof_received(self) -> None:
        self._unread.clear()
        self.protocol.receive_eof()
        self._write_replies()

    def _is_awaited(self, now: float) -> bool:
        """Return whether the arena awaits a message of this client and the client's CPU budgets are not used up."""
        return (
            self._receiver is not None
            and bool(self._receiver.awaited)
            and self._cpu_budget.throttled_until <= now
            and self._ahead_budget.throttled_until <= now
        )

    @property
    def _must_hold_input(self) -> bool:
        """True if input must wait, because the request is not answered yet, or because `MAX_EARLY_MESSAGES` messages
        already wait for their receiver.
        """
        if not self._is_answered:
            return self._request.done()
        return len(self._early_messages) >= MAX_EARLY_MESSAGES and self._receiver is None and self.protocol.is_open

    def _schedule_reading(self) -> None:
        """Schedule a turn for unread input. It comes before the input of other clients if the arena awaits a message of
        this client. Reading from the socket pauses while there is unread input.
        """
        if self._unread and not self._must_hold_input:
            if not self._is_queued_ahead and self._is_awaited(self._clock()):
                self._is_queued_ahead = True
                self._loop.call_soon(self._process_unread, True)
            elif not (
                self._is_queued_ahead or self._is_queued or self.is_write_paused
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
            size = READ_CHUNK_BYTES
            if not self._is_answered:  # a line at a time, so that no piece goes beyond the end of the request
                size = self._unread.find(b"\n", 0, READ_CHUNK_BYTES) + 1 or READ_CHUNK_BYTES
            piece = bytes(self._unread[:size])
            del self._unread[:size]
            now = self._process_piece(piece, now, ahead=ahead)
        self._schedule_reading()

    def _process_piece(self, piece: bytes, began: float, *, ahead: bool) -> float:
        """Process a piece of input from the time `began` on, and return the time at which this ends. Charge the client
        for the work, except if the arena awaited all input in the piece.
        """
        self._awaited_count = self._unawaited_count = self._pushed_bytes = 0
        try:
            events = self.protocol.receive_data(piece)
            self._write_replies()
            for event in events:
                self._process_event(event)
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
        if part.opcode is not Opcode.CONT:
            self._is_partial_text = part.opcode is Opcode.TEXT
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
        if self._receiver is None:
            self._unawaited_count += 1
            if self._first_message.done():
                self._early_messages.append(message)
            else:
                self._first_message.set_result(message)
        elif self._receiver.receive(message):
            self._awaited_count += 1
        else:
            self._unawaited_count += 1

    @property
    def is_gone(self) -> bool:
        """True if the connection is closed or closing."""
        return not self.protocol.is_open

    @property
    def close_info(self) -> CloseInfo:
        """The end of a connection that has ended."""
        if self._has_given_up:
            return CloseInfo(READS_TOO_SLOWLY, "does not read", by_arena=True)
        frames = self.protocol.close_exc
        if frames.sent is not None and not frames.rcvd_then_sent:
            return CloseInfo(frames.sent.code, frames.sent.reason, by_arena=True)
        if frames.rcvd is None:
            return CloseInfo(None, "", by_arena=False)
        return CloseInfo(frames.rcvd.code, frames.rcvd.reason, by_arena=False)

    def send_frame(self, frame: Frame) -> None:
        """Send a message as one frame. Do nothing on a closed connection, whose end is reported elsewhere."""
        self.send_framed(make_frame(frame))

    def send_framed(self, data: bytes) -> None:
        """Send frames made by `make_frame`. Do nothing on a closed connection."""
        protocol = self.protocol
        if protocol.is_open:
            size = len(data)
            self._pushed_bytes += size
            self._scheduler.sent_bytes += size
            protocol.output.append(data)
            if not self._is_flush_queued:
                self._is_flush_queued = True
                self._flusher.register(self)

    def flush(self, queued: float, now: float) -> None:
        """Write all frames that were sent in this turn of the event loop together, so that the peer wakes up once."""
        self._is_flush_queued = False
        output = self.protocol.output
        if self.transport.is_closing():  # uvloop raises if a closed transport is written to
            output.clear()
        if not output:  # it was written with the end of the connection, after which not even nothing may be written
            return
        self.transport.write(b"".join(output))  # not writelines, which pauses no writer in Python 3.12
        output.clear()
        if now - queued > STALL_THRESHOLD_S and self._receiver is not None:
            self._receiver.on_late_write(self._flushed_at, now)
        self._flushed_at = now
        if self._is_queued:  # an awaited answer must not wait for its turn behind other input
            self._schedule_reading()
        if self.is_write_paused:
            self._limit_write_buffer(self.transport.get_write_buffer_size())

    def _write_replies(self) -> None:
        """Write the output of the protocol. Cut off a peer that does not end the connection soon when it should."""
        output, transport = self.protocol.output, self.transport
        if output and not transport.is_closing():
            is_end = not output[-1]
            transport.write(b"".join(output))  # not writelines, which hangs at the empty piece in Python 3.12
            if is_end and not transport.can_write_eof():  # TLS has no end of one direction alone
                transport.close()
            elif is_end:
                with contextlib.suppress(OSError):  # the client has reset the connection
                    transport.write_eof()
        output.clear()
        if self._close_timeout is None and self.protocol.is_close_expected:
            self._close_timeout = self._loop.call_later(self._timeouts.close_timeout_s, self.transport.abort)

    def _send_ping(self) -> None:
        if self.protocol.is_open:
            self._awaited_pong, self._pinged_at = secrets.token_bytes(4), self._loop.time()
            self.protocol.send_ping(self._awaited_pong)
            self._write_replies()
            check = partial(self._check_pong, self._awaited_pong)
            self._keepalive_timer = self._loop.call_later(
                self._timeouts.pong_timeout_s, call_after_reading, self._loop, check
            )

    def _start_next_ping(self) -> None:
        assert self._keepalive_timer is not None
        self._keepalive_timer.cancel()
        self._awaited_pong = b""
        due = max(self._pinged_at + self._timeouts.ping_interval_s, self._loop.time())
        self._keepalive_timer = self._loop.call_at(due, self._send_ping)

    def _check_pong(self, pong: bytes) -> None:
        """Close the connection if it still waits for this pong."""
        if self.protocol.is_open and self._awaited_pong == pong:
            self.protocol.fail(PEER_LOSS, "keepalive ping timeout")
            self._write_replies()

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

    def measure_unread_s(self) -> float | None:
        """Return the seconds for which the last input had waited unread; None if unknown.

        It counts as 0 if the input came within `STALL_THRESHOLD_S` of the last write, or if the event loop polled the
        socket within that time. Otherwise the kernel is asked.
        """
        now = self._loop.time()
        if now - self._flushed_at < STALL_THRESHOLD_S or (
            self._is_reading and now - self._flusher.polled_at < STALL_THRESHOLD_S
        ):
            return 0.0
        return seconds_unread(self.transport)

    def start_close(self, code: int, reason: str) -> None:
        """Start the closing handshake. Cut off a peer that does not finish it in time."""
        if self.protocol.is_open:
            self.protocol.send_close(code, reason)
            self._write_replies()

    def pause_writing(self) -> None:
        self.is_write_paused = True
        self._write_timeout = self._loop.call_later(self._timeouts.write_timeout_s, self._give_up)

    def _give_up(self) -> None:
        self._has_given_up = True
        self.transport.abort()

    def resume_writing(self) -> None:
        self.is_write_paused = False
        if self._write_timeout is not None:
            self._write_timeout.cancel()
            self._write_timeout = None
        self._limit_write_buffer(0)
        self._schedule_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._write_timeout, self._close_timeout, self._keepalive_timer):
            if timer is not None:
                timer.cancel()
        self._unread.clear()
        self._limit_write_buffer(0)
        self._scheduler.remove_connection(self._address)
        self.slot.release()
        self.protocol.receive_eof()
        for awaited in (self._request, self._first_message):
            if not awaited.done():
                awaited.set_result(None)
        self._ended.set()
