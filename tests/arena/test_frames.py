"""The short way of small frames comes to what the library's parser comes to, however a stream is cut."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from websockets.datastructures import Headers
from websockets.frames import CloseCode
from websockets.http11 import Request
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
    CONT,
    KINDS,
    MOVE,
    PING,
    REQUEST,
    TEXT,
    TwoWays,
    both_ways,
    closing,
    cut,
    cut_everywhere,
    drawn,
    framed_otherwise,
    leave,
    ping,
    written,
)
from protocol.codec import Frame
from protocol.messages import MAX_CLIENT_FRAME_BYTES
from volumes import IS_NIGHTLY


@pytest.mark.parametrize("first", KINDS)
def test_two_frames_between_moves_come_to_the_same_on_both_ways_wherever_they_are_cut(first: str) -> None:
    place = list(KINDS).index(first)
    seconds = KINDS if IS_NIGHTLY else list(KINDS)[place % 5 :: 5]  # each kind comes after several others
    for second in seconds:
        cuts = cut_everywhere([MOVE, KINDS[first], KINDS[second], MOVE])  # raises where the two ways differ
        assert all(1 <= ways.frames <= 4 for ways in cuts)


@pytest.mark.parametrize("seed", range(10))
def test_any_stream_in_any_pieces_comes_to_the_same_on_both_ways(seed: int) -> None:
    chance = random.Random(seed)
    ways = [both_ways(chance, chance.randrange(1, 40)) for _ in range(50)]
    assert sum(way.short for way in ways) > 100
    assert {None, CloseCode.PROTOCOL_ERROR, CloseCode.MESSAGE_TOO_BIG} <= {way.closed_with for way in ways}


def opened() -> TwoWays:
    """After a first move, which went the library's way."""
    ways = TwoWays()
    ways.feed(MOVE)
    assert ways.short == 0
    return ways


@pytest.mark.parametrize("size", [0, 1, 5, 125, 126, 127, READ_CHUNK_BYTES - 8])
def test_a_small_frame_in_a_piece_of_its_own_takes_the_short_way(size: int) -> None:
    ways = opened()
    for mask in (bytes(4), b"mask", b"\xff\x00\xff\x01"):
        (event,) = ways.feed(written(BINARY, b"x" * size, mask=mask))
        assert event.data == b"x" * size
        assert type(event.data) is bytes
    assert ways.short == 3


@pytest.mark.parametrize(
    "frame",
    [
        written(TEXT, b"{}"),
        written(PING, b"there?"),
        written(BINARY, b"x" * 125, wide=2),
        written(BINARY, wide=2),
        written(BINARY, b"x" * 126, wide=8),
        written(BINARY, b"x" * (READ_CHUNK_BYTES - 7)),
        written(BINARY, b"move", fin=False),
        MOVE + MOVE,
        MOVE[:-1],
        MOVE[:1],
        b"",
    ],
    ids=lambda frame: frame[:4].hex() or "nothing",
)
def test_what_is_no_small_frame_goes_the_librarys_way(frame: bytes) -> None:
    ways = opened()
    ways.feed(frame)
    assert ways.short == 0


@pytest.mark.parametrize("size", [0, 1, 125, 126, 300])
@pytest.mark.parametrize("wide", [2, 8])
def test_a_length_in_more_bytes_than_it_needs_is_accepted_as_the_library_does(size: int, wide: int) -> None:
    ways = opened()
    (event,) = ways.feed(written(BINARY, b"x" * size, wide=wide))
    assert event.data == b"x" * size
    assert ways.arena.state is State.OPEN


BEGUN: dict[str, list[bytes | Callable[[ServerProtocol], None]]] = {
    "a byte": [MOVE[:1]],
    "a header": [MOVE[:2]],
    "half a frame": [MOVE[:9]],
    "a frame and a byte of the next": [MOVE + MOVE[:1]],
    "the beginning of a message": [written(BINARY, b"mo", fin=False)],
    "its beginning and a part": [written(BINARY, b"mo", fin=False), written(CONT, b"v", fin=False)],
    "its beginning and a ping": [written(BINARY, b"mo", fin=False), written(PING)],
    "a close": [closing(1000)],
    "a close from here": [leave],
    "what is wrong": [KINDS["no mask"]],
    "the end": [ServerProtocol.receive_eof],
}


@pytest.mark.parametrize("begun", BEGUN)
def test_the_short_way_is_closed_after(begun: str) -> None:
    ways = opened()
    for step in BEGUN[begun]:
        if isinstance(step, bytes):
            ways.feed(step)
        else:
            ways.do(step)
    assert ways.arena.try_decode(MOVE) is None
    if begun != "the end":
        ways.feed(MOVE)


@pytest.mark.parametrize(
    ("begin", "rest"),
    [
        (MOVE[:9], MOVE[9:]),
        (MOVE + MOVE[:1], MOVE[1:]),
        (written(BINARY, b"mo", fin=False), written(PING) + written(CONT, b"ve")),
    ],
)
def test_the_short_way_is_open_again_once_what_was_begun_is_whole(begin: bytes, rest: bytes) -> None:
    ways = opened()
    for piece in (begin, rest, MOVE):
        ways.feed(piece)
    assert ways.short == 1


def test_a_ping_from_here_leaves_the_short_way_open() -> None:
    ways = opened()
    ways.do(ping)
    ways.feed(MOVE)
    assert ways.short == 1


@pytest.mark.parametrize("early", [b"", MOVE, MOVE[:9], written(BINARY, fin=False)], ids=len)
def test_what_comes_with_the_request_or_before_its_answer_goes_the_librarys_way(early: bytes) -> None:
    ways = TwoWays(state=State.CONNECTING)
    ways.feed(REQUEST + early)
    ways.feed(MOVE)
    ways.accept()
    assert ways.short == 0
    assert ways.arena.state is State.OPEN
    ways.feed(MOVE)
    assert ways.short == (early in (b"", MOVE))


def test_behind_a_close_nothing_is_read_also_if_it_came_before_the_handshake_was_answered() -> None:
    ways = TwoWays(state=State.CONNECTING)
    ways.feed(REQUEST + MOVE + closing(1000, b"bye"))
    ways.accept()
    assert ways.arena.state is State.OPEN
    assert ways.feed(MOVE) == []


def test_no_piece_that_may_take_the_short_way_holds_too_large_a_message() -> None:
    assert READ_CHUNK_BYTES <= MAX_CLIENT_FRAME_BYTES


@pytest.mark.parametrize("more", [0, 1])
def test_a_message_is_too_large_by_what_all_its_parts_have(more: int) -> None:
    ways = opened()
    ways.feed(written(BINARY, bytes(MAX_CLIENT_FRAME_BYTES - 100), fin=False))
    ways.feed(written(CONT, bytes(100 + more)))
    assert ways.closed_with == (CloseCode.MESSAGE_TOO_BIG if more else None)


def test_a_frame_is_sent_as_the_library_writes_it() -> None:
    assert not list(framed_otherwise())


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def write_eof(self) -> None:
        self.written.append(b"")

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
        pass


async def handled(connection: object) -> None:
    """What a server does with a connection: nothing here."""


class Receiver:
    """An open connection that always awaits something, and messages that it passed on."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        ticks = itertools.count(step=10)
        self.got: list[Frame] = []
        self.wire = Wire()
        self.protocol = FastProtocol(state=State.OPEN, max_size=MAX_CLIENT_FRAME_BYTES)
        server: Any = SimpleNamespace(handler=handled, handler_tasks=set())
        self.connection = Connection(
            self.protocol,
            server,
            scheduler=FairScheduler(loop, lambda: float(next(ticks))),
            flusher=Flusher(loop),
            slot=ConnectionLimits(ConnectionBounds()).take("here"),
            tls_mismatch=TlsMismatchLog(),
            timeouts=NetworkTimeouts(),
        )
        self.connection.connection_made(self.wire)
        self.connection.request = Request("/", Headers())
        self.connection._receive = self.receive
        self.connection._awaited = ("a move",)

    def receive(self, message: Frame) -> bool:
        self.got.append(message)
        return True

    async def feed(self, piece: bytes) -> None:
        self.connection.data_received(piece)
        for _ in range(len(piece) // READ_CHUNK_BYTES + 2):
            await asyncio.sleep(0)
        assert not self.connection._unread


class Reference:
    """The library's protocol, with messages put together of its frames as RFC 6455 says, and text decoded."""

    def __init__(self) -> None:
        self.got: list[Frame] = []
        self.written: list[bytes] = []
        self.protocol = ServerProtocol(state=State.OPEN, max_size=MAX_CLIENT_FRAME_BYTES)
        self._parts: list[Any] = []

    def feed(self, piece: bytes) -> None:
        for at in range(0, len(piece), READ_CHUNK_BYTES):
            self.protocol.receive_data(piece[at : at + READ_CHUNK_BYTES])
            events: list[Any] = self.protocol.events_received()
            self.written += self.protocol.data_to_send()
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
                self.written += self.protocol.data_to_send()


@pytest.mark.parametrize("seed", range(5))
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
        receiver, reference = Receiver(), Reference()
        for piece in filter(None, cut(drawn(chance, chance.randrange(1, 30)), chance)):
            await receiver.feed(piece)
            reference.feed(piece)
            assert receiver.got == reference.got
            assert list(map(type, receiver.got)) == list(map(type, reference.got))
            assert receiver.wire.written == reference.written
            assert receiver.protocol.state is reference.protocol.state
    assert short > 50


async def test_a_move_that_is_awaited_is_passed_on_without_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = Receiver()
    await receiver.feed(MOVE)
    monkeypatch.delattr(FastProtocol, "receive_data")
    monkeypatch.delattr(ServerProtocol.__mro__[1], "receive_data")
    await receiver.feed(MOVE)
    assert len(receiver.got) == 2
