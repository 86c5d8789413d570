"""Messages there and back in both encodings, and what clients are lenient about."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frames import BOTH, frame
from message_strategies import FROM_CLIENT, FROM_SERVER
from protocol import codec
from protocol.codec import JSON, MSGPACK, Codec, read_info
from protocol.errors import MalformedMessage
from protocol.messages import (
    MAX_CLIENT_FRAME_BYTES,
    MAX_SERVER_FRAME_BYTES,
    FromClient,
    FromServer,
    Hello,
    Info,
    Move,
    Resign,
    Turn,
    Unseeked,
)
from volumes import examples


@BOTH
@settings(max_examples=examples(40, nightly=200))
@given(message=st.one_of(*FROM_CLIENT.values()))
def test_what_a_client_sends_arrives_as_it_was(encoding: Codec, message: FromClient) -> None:
    assert encoding.decode_client(encoding.encode(message)) == message


@pytest.mark.no_cover
@BOTH
@settings(max_examples=examples(40, nightly=200))
@given(message=st.one_of(*FROM_SERVER.values()))
def test_what_the_server_sends_arrives_as_it_was(encoding: Codec, message: FromServer) -> None:
    assert encoding.decode_server(encoding.encode(message)) == message


@pytest.mark.no_cover
@settings(max_examples=examples(40, nightly=200))
@given(message=st.one_of(*FROM_CLIENT.values(), *FROM_SERVER.values()))
def test_both_encodings_carry_the_same_map(message: FromClient | FromServer) -> None:
    assert msgpack.unpackb(MSGPACK.encode(message)) == json.loads(JSON.encode(message))


def test_defaults_are_left_out_and_the_type_is_the_first_key() -> None:
    assert JSON.encode(Hello(bot="ann")) == '{"type":"hello","bot":"ann"}'
    assert JSON.encode(Resign(match="m-1")) == '{"type":"resign","match":"m-1"}'


def test_msgpack_travels_in_binary_frames_and_json_in_text_frames() -> None:
    assert isinstance(MSGPACK.encode(Resign(match="m")), bytes)
    assert isinstance(JSON.encode(Resign(match="m")), str)
    with pytest.raises(MalformedMessage, match="send binary frames"):
        MSGPACK.decode_client('{"type":"resign","match":"m"}')
    with pytest.raises(MalformedMessage, match="send text frames"):
        JSON.decode_client(b'{"type":"resign","match":"m"}')


@BOTH
def test_a_client_ignores_fields_and_types_it_does_not_know(encoding: Codec) -> None:
    wire = {"type": "unseeked", "id": "1", "since": "version 2"}
    assert encoding.decode_server(frame(encoding, wire)) == Unseeked(id="1")
    assert encoding.decode_server(frame(encoding, {"type": "applause", "volume": 11})) is None


@BOTH
@pytest.mark.parametrize("value", [1, [], {}, {"type": 3}])
def test_a_server_message_without_a_type_is_malformed(encoding: Codec, value: Any) -> None:
    with pytest.raises(MalformedMessage, match="a map with a string as type"):
        encoding.decode_server(frame(encoding, value))


@BOTH
def test_a_server_message_that_lacks_a_field_is_malformed(encoding: Codec) -> None:
    with pytest.raises(MalformedMessage, match="unseeked: id is missing: text"):
        encoding.decode_server(frame(encoding, {"type": "unseeked"}))


def test_a_client_reads_more_entries_than_the_server_would() -> None:
    turn = Turn(match="m", ply=0, to_move=0, state={"cells": [0] * 5000}, events=[], clock=[], digest="0" * 64)
    assert MSGPACK.decode_server(MSGPACK.encode(turn)) == turn
    with pytest.raises(MalformedMessage, match="not msgpack"):
        MSGPACK.decode_server(b"\xc1")


def test_info_is_checked_apart_from_its_move() -> None:
    assert read_info(None) is None
    assert read_info({"value": 1, "note": "n" * 256}) == Info(value=1.0, note="n" * 256)
    for info in ({"note": "n" * 257}, {"depth": -1}, {"nodes": "many"}, {"mood": "good"}, [], "fine"):
        with pytest.raises(MalformedMessage, match=r"^info(:| is) "):
            read_info(info)


MOVE = {"type": "move", "match": "261121-075531-357b800a", "ply": 2, "move": {"heap": 1, "take": 2}}
PLAIN = json.dumps(MOVE)[:-1]


@pytest.mark.parametrize(
    ("info", "says"),
    [
        ('{"nodes": 18446744073709551616}', "an integer of more than 64 bits"),
        (f'{{"nodes": {"9" * 5000}}}', "not JSON: Integer value out of range"),
        (f'{{"other": {{"deep": [{"9" * 5000}]}}}}', "not JSON: Integer value out of range"),
        ('{"value": 1e400}', "not JSON: Number out of range"),
        ('{"value": -Infinity}', "not JSON: "),
        ('{"value": NaN}', "not JSON: "),
        ('{"note": "\\ud800"}', "not JSON: "),
        ("[" * 9 + "]" * 9, "nested deeper than 8 levels"),
        (json.dumps({f"k{number}": 1 for number in range(129)}), "a map of 129 entries: at most 128"),
        (json.dumps({"note": "n" * 5000}), "a string of more than 4096 bytes"),
        (json.dumps([0] * 1025), "an array of 1025 entries: at most 1024"),
    ],
)
def test_a_move_stands_in_json_whatever_its_info_is(info: str, says: str) -> None:
    move = JSON.decode_client(f'{PLAIN}, "info": {info}}}')
    assert isinstance(move, Move)
    assert (move.match, move.ply, move.move) == (MOVE["match"], MOVE["ply"], MOVE["move"])
    with pytest.raises(MalformedMessage, match="^info: " + re.escape(says)):
        read_info(move.info)


@pytest.mark.parametrize(
    "info",
    [
        {"value": math.nan},
        {"note": b"bytes"},
        {"note": msgpack.Timestamp(1)},
        {"note": msgpack.ExtType(5, b"x")},
        {1: 2},
        {"note": "n" * 5000},
        [[[[[[[[[]]]]]]]]],
    ],
)
def test_a_move_stands_in_msgpack_whatever_its_info_is(info: Any) -> None:
    move = MSGPACK.decode_client(msgpack.packb({**MOVE, "info": info}))
    assert isinstance(move, Move)
    assert (move.match, move.ply, move.move) == (MOVE["match"], MOVE["ply"], MOVE["move"])
    with pytest.raises(MalformedMessage, match=r"^info(:| is) "):
        read_info(move.info)


def test_a_move_stands_in_msgpack_where_a_note_is_no_utf_8() -> None:
    packed = msgpack.packb({**MOVE, "info": {"note": "xx"}})
    move = MSGPACK.decode_client(packed.replace(b"xx", b"x\xff"))
    assert isinstance(move, Move)
    with pytest.raises(MalformedMessage, match=r"^info: not msgpack"):
        read_info(move.info)
    in_the_move = msgpack.packb({**MOVE, "move": {"do": "xx"}, "info": {"note": "n"}})
    with pytest.raises(MalformedMessage):
        MSGPACK.decode_client(in_the_move.replace(b"xx", b"x\xff"))


@pytest.mark.parametrize(
    "frame",
    [
        f'{PLAIN}, "info": {{"value": NaN}}, "more": NaN}}',
        f'{PLAIN}, "info": {{"value": NaN}}',
        '{"type": "move", "match": "m", "ply": NaN, "move": {}, "info": {"value": NaN}}',
        '{"type": "move", "match": "m", "ply": 2, "move": {"at": 1e999}, "info": {"value": NaN}}',
        '{"type": "move", "match": "m", "ply": 2, "move": {"at": "\\ud800"}, "info": {"value": NaN}}',
        f'{{"type": "move", "match": "m", "ply": 2, "move": {{"at": {"9" * 5000}}}, "info": {{"value": NaN}}}}',
        f'{{"type": "move", "match": "m", "ply": 2, "move": {{"at": {2**64}}}, "info": {{"value": 1}}}}',
        '{"type": "seek", "id": "s", "game": "nim", "info": {"value": NaN}}',
        "[" * 16000,
    ],
)
def test_what_is_wrong_outside_of_an_info_is_no_message(frame: str) -> None:
    with pytest.raises(MalformedMessage):
        JSON.decode_client(frame)


def test_the_limits_are_those_of_the_protocol() -> None:
    assert (codec.MAX_ARRAY_ITEMS, codec.MAX_MAP_ENTRIES, codec.MAX_STRING_BYTES, codec.MAX_DEPTH) == (
        1024,
        128,
        4096,
        8,
    )
    assert (MAX_CLIENT_FRAME_BYTES, MAX_SERVER_FRAME_BYTES) == (16384, 1048576)
