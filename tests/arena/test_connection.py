"""A connection without a socket: what it reads and answers, and when it pings, closes and gives up."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Collection
from http import HTTPStatus
from typing import Any

import pytest
from websockets.frames import CloseCode, Frame
from websockets.protocol import State
from websockets.server import ServerProtocol

from arena.network.connection import READ_CHUNK_BYTES, Connection
from arena.network.connection_limits import ConnectionBounds, ConnectionLimits
from arena.network.fair_scheduler import FairScheduler
from arena.network.flusher import Flusher
from arena.network.frames import FastProtocol
from arena.network.timeouts import NetworkTimeouts
from arena.network.tls import TlsMismatchLog
from frame_pieces import (
    BINARY,
    CLOSE,
    CONT,
    MOVE,
    PING,
    PONG,
    REQUEST,
    TEXT,
    closing,
    cut,
    drawn,
    open_protocol,
    written,
)
from machine.event_loop import BackgroundTasks
from protocol import codec
from protocol.messages import MAX_CLIENT_FRAME_BYTES
from virtual_time import advance

pytestmark = pytest.mark.virtual_time


class Wire(asyncio.Transport):
    """A transport that keeps what is written, which the end of the stream follows."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.has_ended = self.is_aborted = False

    def write(self, data: Any) -> None:
        assert not self.has_ended
        self.written += data

    def write_eof(self) -> None:
        self.has_ended = True

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def abort(self) -> None:
        self.is_aborted = True


class Receiver:
    """A connection of which something is always awaited, and messages that it passed on."""

    awaited: Collection[object] = ("a move",)

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        ticks = itertools.count(step=10)
        self.got: list[codec.Frame] = []
        self.wire = Wire()
        self.connection = Connection(
            FastProtocol(ServerProtocol(max_size=MAX_CLIENT_FRAME_BYTES)),
            lambda connection: None,
            FairScheduler(loop, lambda: float(next(ticks))),
            Flusher(loop),
            ConnectionLimits(ConnectionBounds()).take("here"),
            TlsMismatchLog(),
            NetworkTimeouts(),
        )
        self.connection.connection_made(self.wire)
        self._tasks = BackgroundTasks()

    @classmethod
    async def opened(cls, behind_request: bytes = b"") -> Receiver:
        receiver = cls()
        await receiver.feed(REQUEST + behind_request)
        request = await receiver.connection.receive_request()
        assert request is not None
        receiver.connection.respond(request, None)
        assert receiver.wire.written.endswith(b"\r\n\r\n")
        receiver.wire.written = b""
        receiver._tasks.start(receiver.connection.deliver_messages(receiver))
        await asyncio.sleep(0)
        return receiver

    def receive(self, message: codec.Frame) -> bool:
        self.got.append(message)
        return True

    def on_late_write(self, previous: float, now: float) -> None:
        """Nothing depends on it."""

    async def feed(self, piece: bytes) -> None:
        self.connection.data_received(piece)
        for _ in range(len(piece) // READ_CHUNK_BYTES + 2):
            await asyncio.sleep(0)


class Reference:
    """The library's protocol, with messages put together of its frames as RFC 6455 says, and text decoded."""

    def __init__(self) -> None:
        self.got: list[codec.Frame] = []
        self.written = b""
        self.has_ended = False
        self.protocol = open_protocol()
        self._parts: list[Any] = []

    def feed(self, piece: bytes) -> None:
        for at in range(0, len(piece), READ_CHUNK_BYTES):
            self.protocol.receive_data(piece[at : at + READ_CHUNK_BYTES])
            events: list[Any] = self.protocol.events_received()
            self._write()
            for event in events:
                if event.opcode in (TEXT, BINARY, CONT):
                    self._parts.append(event)
                    if event.fin:
                        self._end()

    def _end(self) -> None:
        parts, self._parts = self._parts, []
        message = b"".join(part.data for part in parts)
        try:
            self.got.append(message if parts[0].opcode is BINARY else message.decode())
        except UnicodeDecodeError as exc:
            if self.protocol.state is State.OPEN:
                self.protocol.send_close(CloseCode.INVALID_DATA, f"{exc.reason} at position {exc.start}")
                self._write()

    def _write(self) -> None:
        for data in self.protocol.data_to_send():
            self.written += data
            self.has_ended |= not data


@pytest.mark.parametrize("seed", range(3))
async def test_a_connection_passes_on_and_answers_what_the_library_would(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    short = 0
    asked = FastProtocol.try_decode

    def counted(protocol: FastProtocol, data: bytes) -> bytes | None:
        nonlocal short
        message = asked(protocol, data)
        short += message is not None
        return message

    monkeypatch.setattr(FastProtocol, "try_decode", counted)
    for _ in range(30):
        receiver, reference = await Receiver.opened(), Reference()
        for piece in filter(None, cut(drawn(chance, chance.randrange(1, 30)), chance)):
            await receiver.feed(piece)
            reference.feed(piece)
            assert receiver.got == reference.got
            assert list(map(type, receiver.got)) == list(map(type, reference.got))
            assert receiver.wire.written == reference.written
            assert receiver.wire.has_ended == reference.has_ended
            assert receiver.connection.is_gone == (reference.protocol.state is not State.OPEN)
    assert short > 50


async def test_a_move_that_is_awaited_is_passed_on_without_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = await Receiver.opened()
    monkeypatch.delattr(FastProtocol, "receive_data")
    await receiver.feed(MOVE)
    assert len(receiver.got) == 1


@pytest.mark.parametrize("early", [MOVE, MOVE[:9], MOVE * 3, written(BINARY, fin=False), closing(1000)], ids=len)
async def test_what_comes_with_the_request_is_read_after_its_answer(early: bytes) -> None:
    receiver, reference = await Receiver.opened(early), Reference()
    reference.feed(early)
    for piece in (b"", MOVE[9:] if early == MOVE[:9] else MOVE):
        await receiver.feed(piece)
        reference.feed(piece)
        assert receiver.got == reference.got
        assert receiver.wire.written == reference.written


async def test_before_the_answer_nothing_but_the_request_is_read() -> None:
    receiver = Receiver()
    for piece in (REQUEST[:30], REQUEST[30:] + written(PING), MOVE):
        await receiver.feed(piece)
    assert await receiver.connection.receive_request()
    assert receiver.wire.written == b""


def taken(receiver: Receiver) -> list[bytes]:
    """The frames that were written since the last look, which are small."""
    data, receiver.wire.written = receiver.wire.written, b""
    frames = []
    while data:
        frames.append(data[: 2 + data[1]])
        data = data[2 + data[1] :]
    return frames


async def test_a_client_is_pinged_at_every_interval_as_long_as_it_answers() -> None:
    receiver = await Receiver.opened()
    for _ in range(3):
        await advance(9.99)
        assert taken(receiver) == []
        await advance(0.01)
        (ping,) = taken(receiver)
        assert ping[0] == 0x80 | PING
        await receiver.feed(written(PONG, ping[2:]))
    assert not receiver.connection.is_gone


async def test_a_pong_that_comes_after_the_interval_is_followed_by_a_ping() -> None:
    receiver = await Receiver.opened()
    await advance(10)
    (ping,) = taken(receiver)
    await advance(15)
    assert taken(receiver) == []
    await receiver.feed(written(PONG, ping[2:]))
    await advance(0)
    assert len(taken(receiver)) == 1


async def check_cut_off(receiver: Receiver) -> None:
    """See that a connection has ended, and that it is aborted after a second."""
    assert receiver.wire.has_ended
    await advance(0.99)
    assert not receiver.wire.is_aborted
    await advance(0.01)
    assert receiver.wire.is_aborted


async def test_a_connection_can_be_watched_more_closely_than_others_from_any_time_on() -> None:
    receiver = await Receiver.opened()
    receiver.connection.set_keepalive(2.0, 6.0)
    await advance(0)
    (ping,) = taken(receiver)
    await receiver.feed(written(PONG, ping[2:]))
    await advance(2)
    assert len(taken(receiver)) == 1
    receiver.connection.set_keepalive(2.0, 6.0)
    await advance(5.99)
    assert not receiver.wire.has_ended
    await advance(0.01)
    await check_cut_off(receiver)


@pytest.mark.parametrize("pong", [b"", b"late"])
async def test_a_client_that_does_not_answer_a_ping_is_told_and_cut_off(pong: bytes) -> None:
    receiver = await Receiver.opened()
    await advance(10)
    taken(receiver)
    await receiver.feed(written(PONG, pong))
    await advance(19.99)
    assert taken(receiver) == []
    await advance(0.01)
    reason = b"keepalive ping timeout"
    assert taken(receiver) == [Frame(CLOSE, CloseCode.INTERNAL_ERROR.to_bytes(2) + reason).serialize(mask=False)]
    await check_cut_off(receiver)


async def test_a_pong_that_arrived_while_the_server_was_held_up_is_read_before_it_counts_as_missing() -> None:
    receiver = await Receiver.opened()
    await advance(10)
    (ping,) = taken(receiver)
    asyncio.get_running_loop().call_later(20, receiver.connection.data_received, written(PONG, ping[2:]))
    await advance(20)
    assert not receiver.wire.has_ended


@pytest.mark.parametrize("piece", [closing(1000), written(CLOSE), written(BINARY, b"move", mask=b"")], ids=len)
async def test_a_client_that_does_not_end_a_connection_that_is_closed_is_cut_off(piece: bytes) -> None:
    receiver = await Receiver.opened()
    await receiver.feed(piece)
    await check_cut_off(receiver)


async def test_a_frame_that_was_sent_before_the_client_closed_is_written_before_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    receiver = await Receiver.opened()
    before = len(receiver.wire.written)
    receiver.connection.send_frame("late")
    await receiver.feed(closing(CloseCode.NORMAL_CLOSURE))
    await advance(0.1)
    assert receiver.wire.written[before:].startswith(b"\x81\x04late\x88")
    assert receiver.wire.has_ended
    assert not caplog.records


async def test_a_client_that_does_not_answer_a_close_is_cut_off() -> None:
    receiver = await Receiver.opened()
    receiver.connection.start_close(4000, "bye")
    assert not receiver.wire.has_ended
    await advance(1)
    assert receiver.wire.is_aborted


@pytest.mark.parametrize("refused", [True, False])
async def test_a_client_that_keeps_a_connection_that_did_not_open_is_cut_off(refused: bool) -> None:
    receiver = Receiver()
    await receiver.feed(REQUEST if refused else b"no request\r\n\r\n")
    if refused:
        request = await receiver.connection.receive_request()
        assert request is not None
        receiver.connection.respond(request, receiver.connection.protocol.reject(HTTPStatus.FORBIDDEN, "no"))
        assert receiver.wire.written.startswith(b"HTTP/1.1 403 ")
    await check_cut_off(receiver)


async def test_a_connection_that_is_lost_has_neither_request_nor_messages() -> None:
    receiver = Receiver()
    receiver.connection.connection_lost(None)
    assert await receiver.connection.receive_request() is None
    assert await receiver.connection.receive_first() is None
    await receiver.connection.wait_closed()
