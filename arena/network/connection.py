"""A WebSocket connection: sends without waiting, limits buffers, and asks the kernel how long a frame waited unread.

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
from arena.network.fair_scheduler import FairScheduler, Share
from arena.network.flusher import Flusher
from arena.network.frames import FastProtocol, framed
from arena.network.timeouts import NetworkTimeouts
from arena.network.tls import TLS_BEGINS, TlsMismatch
from protocol.close_codes import READS_TOO_SLOWLY
from protocol.codec import Frame

# Looking an enum member up in its class costs as much as a call.
BINARY, TEXT, CONT, PONG = Opcode.BINARY, Opcode.TEXT, Opcode.CONT, Opcode.PONG
CONNECTING, OPEN = State.CONNECTING, State.OPEN
MOST_UNREAD, MOST_UNREAD_OF_ALL = 4 * 1024 * 1024, 256 * 1024 * 1024
"""Bytes that one client and all may leave unread. Beyond the total, clients above `FAIR_SHARE` are cut off."""
FAIR_SHARE = 256 * 1024
LATE = 0.01
"""Pauses of the event loop below this many seconds are not checked for late frames."""
PIECE = 512
"""Bytes to process before checking the clock: some 80 of the smallest frames, half a millisecond."""
TURN = 0.0005
"""Seconds after which a turn ends, even if more is waiting."""
TAKEN_AT_ONCE = 64 * 1024
"""The kernel's receive buffer in bytes, and so the maximum waiting here as well; a frame has up to 16 KiB."""
MOST_EARLY = 4
"""Messages kept until their receiver is known. While there are more, pings behind them are not answered."""
SENT_AT_ONCE = 128 * 1024
"""The kernel's send buffer in bytes. The rest waits in this process, where it is counted."""
OPENING, GREETING, READING = 0.0005, 0.001, 0.00005
"""Seconds of work charged for a connection, a `hello` and a turn, in addition to the measured work."""
SENDING = 1e-7
"""Seconds charged per byte sent in reply to input that the arena did not await: replies use others' bandwidth."""

# Fields of `struct tcp_info` (linux/tcp.h), which only grows at its end.
_LAST_DATA_RECEIVED = struct.Struct("=52xI")
_LEAST_ROUND_TRIP = struct.Struct("=148xI")

log = logging.getLogger("arena.network.connection")


def lain_unread(transport: asyncio.BaseTransport) -> float | None:
    """Return the seconds since data last arrived at the socket; None if the kernel doesn't say."""
    milliseconds = _tcp_info(transport, _LAST_DATA_RECEIVED)
    return None if milliseconds is None else milliseconds / 1e3


def least_round_trip(transport: asyncio.BaseTransport) -> float:
    """Return the kernel's shortest measured round trip in seconds, including the TCP handshake; 0 if unknown."""
    return (_tcp_info(transport, _LEAST_ROUND_TRIP) or 0) / 1e6


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
    """The end of a connection: its close code (None without one), the reason, and whether this side closed it."""

    code: int | None
    reason: str
    here: bool


class Connection(ServerConnection):
    """A WebSocket that is read fairly, written without waiting, and cut off if its peer does not read.

    All input, from the first byte on, is processed in pieces and charged to the connection's CPU budget (see
    `FairScheduler`). Reading pauses while input waits. Only an answer that the arena awaits is free, and handled first.

    websockets' own keepalive waits for a stalled reader, and answers to a flood of pings bypass its flow control. So
    the write buffer is bounded here, and a pause in writing has a timeout.
    """

    protocol: FastProtocol

    def __init__(
        self,
        protocol: FastProtocol,
        *args: Any,
        budget: FairScheduler,
        flusher: Flusher,
        place: ConnectionSlot,
        foreign: TlsMismatch,
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
        self.place = place
        """The connection's slot in the connection limits."""
        self._stalled: asyncio.TimerHandle | None = None
        self._gave_up = False
        self._unread_by_peer = 0
        self._flushing = False
        self._flushed = 0.0
        self.late: Callable[[float, float], None] | None = None
        """Called with two times, of the previous write and of this one, when the loop delayed a write for too long."""
        self._foreign = foreign
        self._budget = budget
        self._clock = budget.clock
        self._address = ""
        self._unread = bytearray()
        self._in_line = self._is_next = False
        """Two flags: unread input waits for its turn, or for a turn ahead of the others."""
        self._reads = True
        self._account: Share
        self._ahead = budget.trust()
        """The budget for work ahead of its turn that the arena did not await."""
        self._message = bytearray()
        """The parts received so far of a fragmented message."""
        self._text = False
        self._early: deque[Frame] = deque()
        """Messages that arrived before `deliver`. At `MOST_EARLY` of them reading stops until then."""
        self._first: asyncio.Future[None] = self.loop.create_future()
        self._receive: Callable[[Frame], bool] | None = None
        self._awaited: Collection[object] = ()
        self._answers = self._unasked = self._pushed = 0
        """Counts for the current piece: awaited messages, other messages, and bytes sent."""

    @property
    def address(self) -> str:
        """The address that counts for this connection; "" behind a trusted proxy until the request is read."""
        return self._address

    @address.setter
    def address(self, address: str) -> None:
        if address != self._address:
            self._budget.move(self._account, self._address, address)
            self._address = address

    async def first(self) -> Frame:
        """Return the first message. Raise `ConnectionClosed` if none arrives."""
        await asyncio.wait([self._first, self.connection_lost_waiter], return_when=asyncio.FIRST_COMPLETED)
        if not self._early:
            raise self.close_exc
        self._account.charge(GREETING, self._clock())
        message = self._early.popleft()
        self._go_on()
        return message

    async def deliver(self, receive: Callable[[Frame], bool], awaited: Collection[object]) -> None:
        """Pass each further message to `receive` until the connection is closed.

        `receive` returns whether the arena awaited the message. `awaited` is non-empty while the arena awaits any.
        """
        self._receive, self._awaited = receive, awaited
        now = self._clock()
        while self._early:
            receive(self._early.popleft())
        self._account.charge(self._clock() - now, now)
        self._go_on()
        await self.wait_closed()

    def charge(self, seconds: float) -> None:
        """Charge the client for work that it causes elsewhere or later."""
        self._account.charge(seconds, self._clock())

    def in_turn(self, pieces: Iterator[None]) -> None:
        """Run work that this client causes, each piece in a fair turn; the first may run now."""

        def work() -> None:
            began = self._clock()
            more = False
            try:
                more = next(pieces, self) is None
            except Exception:
                log.exception("what a client made could not be done")
            now = self._clock()
            self._account.charge(now - began, now)
            if more:
                self._account.ask(work)

        self._account.ask(work)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._address = "" if self.place.shared else self.place.address
        self._account = self._budget.open(self._address)
        self._account.charge(OPENING, self._clock())
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, TAKEN_AT_ONCE)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENT_AT_ONCE)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        # Nearly all moves take this path, so each call here adds to the cost of a ply.
        size = len(data)
        self._budget.received += size
        if self._awaited and not self._unread and size <= PIECE:
            now = self._clock()
            if self._account.rests_until <= now and self._ahead.rests_until <= now:
                message = self.protocol.message(data)
                if message is None:
                    self._act(data, now, ahead=True)
                    return
                self._pushed = 0
                assert self._receive is not None
                try:
                    asked = self._receive(message)
                except Exception:
                    self._failed()
                    asked = False
                if not asked:
                    self._charge(now, self._clock(), ahead=True)
                return
        if self.protocol.state is CONNECTING and data.startswith(TLS_BEGINS):  # no HTTP request starts like this
            self._foreign.speaks_tls(self.place.address)
            self.transport.abort()
            return
        self._unread += data
        self._go_on()

    def _failed(self) -> None:
        log.exception("a message could not be acted on")
        self.drop(CloseCode.INTERNAL_ERROR, "the arena failed")

    def _charge(self, began: float, now: float, *, ahead: bool) -> None:
        self._account.charge(now - began, now, self._pushed * SENDING)
        if ahead:
            self._ahead.charge(now - began, now)

    def process_event(self, event: Any) -> None:
        if not isinstance(event, WebSocketFrame):
            super().process_event(event)
        elif event.opcode is BINARY and event.fin:
            self._take(bytes(event.data))
        elif event.opcode in DATA_OPCODES:
            self._take_part(event)
        else:
            if event.opcode is PONG and bytes(event.data) in self.pending_pings:
                self._answers += 1
            else:
                self._unasked += 1
            super().process_event(event)

    def eof_received(self) -> None:
        self._unread.clear()
        super().eof_received()

    def _is_awaited(self, now: float) -> bool:
        """Return whether the arena awaits a message of this client, and the client has not used up its budget."""
        return bool(self._awaited) and self._account.rests_until <= now and self._ahead.rests_until <= now

    @property
    def _is_held(self) -> bool:
        """True if input must wait because enough messages wait for their receiver already."""
        return len(self._early) >= MOST_EARLY and self._receive is None and self.protocol.state is OPEN

    def _go_on(self) -> None:
        """Schedule the processing of unread input, ahead of others if it is awaited. Reading pauses until then."""
        if self._unread and not self._is_held:
            if not self._is_next and self._is_awaited(self._clock()):
                self._is_next = True
                self.loop.call_soon(self._turn, True)
            elif not (self._is_next or self._in_line or self.paused):  # a client that does not read gets no turn
                self._in_line = True
                self._account.ask(self._turn)
        if self._reads != (not self._unread) and not self.transport.is_closing():
            self._reads = not self._unread
            (self.transport.resume_reading if self._reads else self.transport.pause_reading)()

    def _turn(self, ahead: bool = False) -> None:
        """Process unread pieces for the length of one turn, and leave the rest for the next."""
        if ahead:
            self._is_next = False
        else:
            self._in_line = False
        now = self._clock()
        ends = now + TURN
        if self._unread:
            self._account.charge(READING, now)
        while self._unread and now < ends and not self._is_held:
            if ahead and not self._is_awaited(now):
                break
            piece = bytes(self._unread[:PIECE])
            del self._unread[:PIECE]
            now = self._act(piece, now, ahead=ahead)
        self._go_on()

    def _act(self, piece: bytes, began: float, *, ahead: bool) -> float:
        """Process some bytes and return the time. They are charged unless they hold only awaited answers."""
        self._answers = self._unasked = self._pushed = 0
        try:
            super().data_received(piece)
        except Exception:
            self._failed()
        now = self._clock()
        if self._unasked or not self._answers:
            self._charge(began, now, ahead=ahead)
        return now

    def _take_part(self, part: WebSocketFrame) -> None:
        """Collect the parts of a message. A text message comes this way even in a single frame."""
        if part.opcode is not CONT:
            self._text = part.opcode is TEXT
        self._message += part.data
        if not part.fin:
            self._unasked += 1
            return
        message, self._message = bytes(self._message), bytearray()
        try:
            self._take(message.decode() if self._text else message)
        except UnicodeDecodeError as exc:
            self.drop(CloseCode.INVALID_DATA, f"{exc.reason} at position {exc.start}")

    def _take(self, message: Frame) -> None:
        if self._receive is None:
            self._unasked += 1
            self._early.append(message)
            if not self._first.done():
                self._first.set_result(None)
        elif self._receive(message):
            self._answers += 1
        else:
            self._unasked += 1

    @property
    def gone(self) -> bool:
        """True if the connection is closed or closing."""
        return self.protocol.state is not OPEN

    @property
    def ended(self) -> CloseInfo:
        """The way in which the connection ended."""
        if self._gave_up:
            return CloseInfo(READS_TOO_SLOWLY, "does not read", here=True)
        sent, received = self.protocol.close_sent, self.protocol.close_rcvd
        if sent is not None and not self.protocol.close_rcvd_then_sent:
            return CloseInfo(sent.code, sent.reason, here=True)
        if received is None:
            return CloseInfo(None, "", here=False)
        return CloseInfo(received.code, received.reason, here=False)

    def push(self, frame: Frame) -> None:
        """Send a frame. On a closed connection this does nothing: its end is reported elsewhere."""
        self.push_framed(framed(frame))

    def push_framed(self, data: bytes) -> None:
        """Send bytes made by `framed`."""
        protocol = self.protocol
        if protocol._state is OPEN:
            size = len(data)
            self._pushed += size
            self._budget.sent += size
            protocol.writes.append(data)
            if not self._flushing:
                self._flushing = True
                self._flusher.soon(self)

    def flush(self, queued: float, now: float) -> None:
        """Write what was sent in this turn of the event loop, all together, so that a sleeping peer wakes up once."""
        self._flushing = False
        if self.transport.is_closing():  # it closed in the meantime: uvloop raises if a closed transport is written to
            return
        self.send_data()
        if now - queued > LATE and self.late is not None:
            self.late(self._flushed, now)
        self._flushed = now
        if self._in_line and self._awaited:  # an awaited answer must not wait for its turn behind other input
            self._go_on()
        if self.paused:
            self._count_unread(self.transport.get_write_buffer_size())

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

    def _count_unread(self, size: int) -> None:
        """Count what the peer has left unread, and drop the connection if it is too much."""
        self._budget.unread += size - self._unread_by_peer
        self._unread_by_peer = size
        if size > MOST_UNREAD or (size > FAIR_SHARE and self._budget.unread > MOST_UNREAD_OF_ALL):
            self.drop(READS_TOO_SLOWLY, "does not read fast enough")

    @property
    def round_trip(self) -> float:
        """Minimum round trip of a frame in seconds; 0 if unknown."""
        return least_round_trip(self.transport)

    @property
    def waited(self) -> float | None:
        """Seconds that the last input had waited unread; None if unknown.

        It is 0, without asking the kernel, for an answer that came at once or while the event loop was not delayed.
        """
        now = self.loop.time()
        if now - self._flushed < LATE or (self._reads and now - self._flusher.polled < LATE):
            return 0.0
        return lain_unread(self.transport)

    def drop(self, code: int, reason: str) -> None:
        """Start the closing handshake; a peer that does not finish it in time is cut off."""
        if self.protocol.state is not OPEN:
            return
        self.protocol.send_close(code, reason)
        self.send_data()
        self.loop.call_later(self._timeouts.close_timeout_s, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(self._timeouts.write_timeout_s, self._give_up)

    def _give_up(self) -> None:
        """Cut off a peer that does not read."""
        self._gave_up = True
        self.transport.abort()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        self._count_unread(0)
        self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
        self._unread.clear()
        self._count_unread(0)
        self._budget.close(self._address)
        self.place.leave()
        super().connection_lost(exc)
