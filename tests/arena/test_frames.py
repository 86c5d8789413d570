"""The short way of small frames comes to what the library's parser comes to, however a stream is cut."""

from __future__ import annotations

import random

import pytest
from websockets.frames import CloseCode

from arena.network.connection import READ_CHUNK_BYTES
from frame_pieces import (
    BINARY,
    CONT,
    KINDS,
    MOVE,
    PING,
    TwoWays,
    both_ways,
    cut_everywhere,
    framed_otherwise,
    ping,
    written,
)
from protocol.messages import MAX_CLIENT_FRAME_BYTES
from volumes import IS_NIGHTLY


@pytest.mark.parametrize("first", KINDS)
def test_two_frames_between_moves_come_to_the_same_on_both_ways_wherever_they_are_cut(first: str) -> None:
    place = list(KINDS).index(first)
    seconds = KINDS if IS_NIGHTLY else list(KINDS)[place % 5 :: 5]  # each kind comes after several others
    for second in seconds:
        cuts = cut_everywhere([MOVE, KINDS[first], KINDS[second], MOVE])  # raises where the two ways differ
        assert all(1 <= ways.frames <= 4 for ways in cuts)


@pytest.mark.parametrize("seed", range(4))
def test_any_stream_in_any_pieces_comes_to_the_same_on_both_ways(seed: int) -> None:
    chance = random.Random(seed)
    ways = [both_ways(chance, chance.randrange(1, 40)) for _ in range(50)]
    assert sum(way.short for way, _ in ways) > 100
    assert {None, CloseCode.PROTOCOL_ERROR, CloseCode.MESSAGE_TOO_BIG} <= {code for _, code in ways}


@pytest.mark.parametrize("size", [0, 1, 5, 125, 126, 127, READ_CHUNK_BYTES - 8])
def test_a_small_frame_in_a_piece_of_its_own_takes_the_short_way(size: int) -> None:
    ways = TwoWays()
    for mask in (bytes(4), b"mask", b"\xff\x00\xff\x01"):
        (event,) = ways.feed(written(BINARY, b"x" * size, mask=mask))
        assert event.data == b"x" * size
        assert type(event.data) is bytes
    assert ways.short == 3


@pytest.mark.parametrize(
    ("begin", "rest"),
    [
        (MOVE[:9], MOVE[9:]),
        (MOVE + MOVE[:1], MOVE[1:]),
        (written(BINARY, b"mo", fin=False), written(PING) + written(CONT, b"ve")),
    ],
)
def test_the_short_way_is_open_again_once_what_was_begun_is_whole(begin: bytes, rest: bytes) -> None:
    ways = TwoWays()
    for piece in (begin, rest, MOVE):
        ways.feed(piece)
    assert ways.short == 1


def test_a_ping_from_here_leaves_the_short_way_open() -> None:
    ways = TwoWays()
    ways.do(ping)
    ways.feed(MOVE)
    assert ways.short == 1


def test_no_piece_that_may_take_the_short_way_holds_too_large_a_message() -> None:
    assert READ_CHUNK_BYTES <= MAX_CLIENT_FRAME_BYTES


def test_a_frame_is_sent_as_the_library_writes_it() -> None:
    assert not list(framed_otherwise())
