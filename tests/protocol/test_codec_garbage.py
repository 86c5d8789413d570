"""Frames that are cut short, damaged, random or bombs: no failure but one, and little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from frames import BOTH
from message_strategies import FROM_CLIENT, FROM_SERVER
from protocol.codec import JSON, MSGPACK, Codec
from protocol.errors import MalformedMessage
from protocol.messages import MAX_CLIENT_FRAME_BYTES, FromClient, FromServer


@BOTH
@settings(max_examples=20)
@given(message=st.one_of(*FROM_CLIENT.values(), *FROM_SERVER.values()))
def test_a_truncated_frame_is_malformed_wherever_it_ends(encoding: Codec, message: FromClient | FromServer) -> None:
    whole = encoding.encode(message)
    for end in {*range(min(40, len(whole))), len(whole) - 1}:
        for decode in (encoding.decode_client, encoding.decode_server):
            with pytest.raises(MalformedMessage):
                decode(whole[:end])


def outcome(decode: Callable[[Any], Any], garbage: bytes | str) -> Any:
    """What a frame is read as, or its fault."""
    try:
        return decode(garbage)
    except MalformedMessage as fault:
        return fault


@given(garbage=st.binary(max_size=200))
@example(garbage=b"")
@example(garbage=b"\xc1")
@example(garbage=b"\x81\x90\x90")
def test_random_bytes_are_a_message_or_malformed(garbage: bytes) -> None:
    for encoding in (MSGPACK, JSON):
        assert isinstance(outcome(encoding.decode_client, garbage), FromClient | MalformedMessage)
        assert isinstance(outcome(encoding.decode_server, garbage), FromServer | MalformedMessage | None)


@given(garbage=st.text(max_size=200))
def test_random_text_is_a_message_or_malformed(garbage: str) -> None:
    for encoding in (MSGPACK, JSON):
        assert isinstance(outcome(encoding.decode_client, garbage), FromClient | MalformedMessage)
        assert isinstance(outcome(encoding.decode_server, garbage), FromServer | MalformedMessage | None)


@given(st.one_of(*FROM_CLIENT.values()), st.data())
def test_a_damaged_frame_is_a_message_or_malformed(message: FromClient, data: st.DataObject) -> None:
    whole = bytearray(bytes(MSGPACK.encode(message)))  # type: ignore[arg-type]
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    assert isinstance(outcome(MSGPACK.decode_client, damaged), FromClient | MalformedMessage)


@pytest.mark.parametrize(
    "bomb",
    [
        b"\x91" * MAX_CLIENT_FRAME_BYTES,
        b"\xdd\x00\x00\x04\x00" * (MAX_CLIENT_FRAME_BYTES // 5),
        b"\xdd\xff\xff\xff\xff" * (MAX_CLIENT_FRAME_BYTES // 5),
        b"\xdf\xff\xff\xff\xff" * (MAX_CLIENT_FRAME_BYTES // 5),
        b"\xdc\x04\x00" * (MAX_CLIENT_FRAME_BYTES // 3),
        b"\xdb\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        "[" * MAX_CLIENT_FRAME_BYTES,
        '{"a":' * (MAX_CLIENT_FRAME_BYTES // 5),
        "9" * MAX_CLIENT_FRAME_BYTES,
    ],
    ids=lambda bomb: repr(bomb[:5]),
)
def test_a_bomb_of_16_kib_costs_little_memory(bomb: bytes | str) -> None:
    encoding = MSGPACK if isinstance(bomb, bytes) else JSON
    # msgpack makes room for an announced array at once, at most 8 KiB, and gives up at 1024 levels of them
    assert min(peak_of_decoding(encoding, bomb) for _ in range(3)) < 9 * 1024 * 1024, "other threads allocate too"


def peak_of_decoding(encoding: Codec, bomb: bytes | str) -> int:
    """Return the most bytes that were in use, by any thread, while a bomb was refused."""
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage):
            encoding.decode_client(bomb)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
