"""The short decoder of small moves comes to what the long way comes to, message or fault, whatever is packed."""

from __future__ import annotations

import random
from typing import Any

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from frame_pieces import decoded_both_ways, is_plain, oddly_packed
from message_strategies import FROM_CLIENT
from protocol import codec
from protocol.codec import MAX_FAST_PATH_BYTES, MSGPACK
from protocol.messages import FromClient, Move, Ready
from volumes import examples

MOVE = {"type": "move", "match": "m-1", "ply": 3, "move": {"heap": 1, "take": 2}}
READY = {"type": "ready", "match": "m-1", "nonce": "0123456789abcdef" * 2}
SMALL_MOVES = st.builds(
    Move,
    match=st.from_regex(r"\A[a-z0-9-]{1,40}\Z"),
    ply=st.integers(0, 2**64 - 1),
    move=st.dictionaries(st.text(max_size=3), st.integers(-9, 9) | st.booleans() | st.floats() | st.text(max_size=3)),
    info=st.none() | st.dictionaries(st.sampled_from(["value", "depth"]), st.floats() | st.integers() | st.booleans()),
)


@pytest.mark.parametrize("seed", range(10))
def test_oddly_packed_messages_come_to_the_same(seed: int) -> None:
    chance = random.Random(seed)
    frames = [oddly_packed(chance) for _ in range(250)]
    for frame in frames:
        short, long = decoded_both_ways(frame)
        assert short == long
    assert 50 < sum(map(is_plain, frames)) < 200


@settings(max_examples=examples(60, nightly=200))
@given(st.one_of(FROM_CLIENT[Move], FROM_CLIENT[Ready], SMALL_MOVES))
@example(Move(match="m", ply=0, move={"a": True}, info={"value": float("nan")}))
@example(Move(match="m", ply=0, move={"a": [True]}, info={"value": 1, "depth": 1.0}))
def test_any_message_comes_to_the_same(message: FromClient) -> None:
    try:
        frame = bytes(MSGPACK.encode(message))  # type: ignore[arg-type]
    except OverflowError:
        return
    short, long = decoded_both_ways(frame)
    assert short == long


@settings(max_examples=examples(60, nightly=200))
@given(st.sampled_from([MOVE, READY, {**MOVE, "info": {"value": -1.0}}]), st.data())
def test_damaged_messages_come_to_the_same(message: dict[str, Any], data: st.DataObject) -> None:
    whole = msgpack.packb(message)
    at = data.draw(st.integers(0, len(whole)))
    short, long = decoded_both_ways(
        whole[:at] + data.draw(st.binary(max_size=3)) + whole[data.draw(st.integers(at, len(whole))) :]
    )
    assert short == long


@pytest.mark.parametrize(
    "frame",
    [
        msgpack.packb(MOVE)[:-1],
        msgpack.packb(MOVE) + b"\x00",
        msgpack.packb(MOVE) * 2,
        b"\x85" + msgpack.packb(MOVE)[1:] + msgpack.packb("type") + msgpack.packb("ready"),
        b"\x85" + msgpack.packb(MOVE)[1:] + msgpack.packb("type") + msgpack.packb("move"),
        b"\x85" + msgpack.packb(MOVE)[1:] + msgpack.packb("ply") + msgpack.packb(4),
        b"\x85" + msgpack.packb(MOVE)[1:] + msgpack.packb("ply") + msgpack.packb(-1),
        b"\x85" + msgpack.packb("ply") + msgpack.packb(-1) + msgpack.packb(MOVE)[1:],
        msgpack.packb(dict(reversed(MOVE.items()))),
        msgpack.packb({"x": [[[[[[[[1]]]]]]]]} | MOVE),
        msgpack.packb({"id": "mine"} | MOVE),
        msgpack.packb({**MOVE, "ply": 3.0}),
        msgpack.packb({**MOVE, "ply": True}),
        msgpack.packb({**MOVE, "match": "m-1\n"}),
        msgpack.packb({**MOVE, "move": {b"": 1}}),
        msgpack.packb({**MOVE, "move": {"a": msgpack.Timestamp(1)}}),
        msgpack.packb({**MOVE, "move": {"a": msgpack.ExtType(5, b"")}}),
        msgpack.packb({**READY, "nonce": "0" * 32 + "\n"}),
        msgpack.packb({**READY, "move": {}}),
    ],
    ids=range(19),
)
def test_a_message_with_something_wrong_comes_to_the_same(frame: bytes) -> None:
    short, long = decoded_both_ways(frame)
    assert short == long


@pytest.fixture
def no_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(frame: codec.Frame) -> Any:
        raise AssertionError("this is plain")

    monkeypatch.setattr(MSGPACK, "_unpack", refuse)


PLAIN: list[dict[str, Any]] = [
    MOVE,
    READY,
    {"type": "ready", "match": "m-1"},
    {**MOVE, "info": {"value": -0.5, "depth": 3, "nodes": 2**40, "note": "lost"}},
    {**MOVE, "move": {"do": "draft", "units": [4, 2], "all": True, "to": None}},
    {**MOVE, "ply": 2**64 - 1, "move": {"x": "y" * 150}},
]


@pytest.mark.usefixtures("no_long_way")
@pytest.mark.parametrize("fields", PLAIN, ids=range(len(PLAIN)))
def test_a_plain_message_takes_the_short_way(fields: dict[str, Any]) -> None:
    message: Any = MSGPACK.decode_client(msgpack.packb(fields))
    assert isinstance(message, Move if fields["type"] == "move" else Ready)
    assert {"type": fields["type"]} | {name: getattr(message, name) for name in fields if name != "type"} == fields


@pytest.mark.usefixtures("no_long_way")
@pytest.mark.parametrize(
    "fields",
    [
        {**MOVE, "move": {"x": 0.5}},
        {**MOVE, "move": {"units": [[4, 2]]}},
        {**MOVE, "move": {"x": "y" * MAX_FAST_PATH_BYTES}},
        {**MOVE, "move": [1]},
        {**MOVE, "info": {"value": float("inf")}},
        {**MOVE, "match": "M"},
        {**MOVE, "more": 1},
        {"type": "resign", "match": "m-1"},
    ],
    ids=range(8),
)
def test_what_is_not_plain_takes_the_long_way(fields: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="this is plain"):
        MSGPACK.decode_client(msgpack.packb(fields))
