"""Messages that are wrong, or over a limit: refused in a line that says what is wrong."""

from __future__ import annotations

import json
import math
from typing import Any

import msgpack
import pytest

from frames import BOTH, complaint, frame, move, nested
from protocol.codec import JSON, MSGPACK, Codec, check_limits, read_info
from protocol.display import escape_unprintable
from protocol.errors import MalformedMessage
from protocol.messages import MAX_CLIENT_FRAME_BYTES, MAX_SERVER_FRAME_BYTES, Error, Info, Move
from protocol.names import NAME_DESCRIPTION


@BOTH
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"type": "resign"}, "resign: match is missing: the id of a match, as in its start"),
        ({"type": "resign", "match": "m", "extra": 1}, "resign: there is no field 'extra': one of match"),
        ({"type": "resign", "match": 7}, "resign: match is 7: the id of a match, as in its start"),
        ({"type": "resign", "match": "M"}, "resign: match is 'M': the id of a match"),
        ({"type": "resign", "match": "m" * 41}, "resign: match is 'mmm"),
        ({"type": "hello", "bot": "bot\n"}, r"hello: bot is 'bot\n': "),
        ({"type": "resign", "match": "m\n"}, r"resign: match is 'm\n': "),
        ({"type": "ready", "match": "m", "nonce": "0" * 32 + "\n"}, "ready: nonce is '000"),
        ({"type": "seek", "id": "1", "game": "nim", "opponent": "bot\n"}, r"seek: opponent is 'bot\n': "),
        ({"type": "hello", "token": ["secret"]}, "hello: token is not text: 16 to 128 characters"),
        ({"type": "hello", "bot": ""}, "hello: bot is '': 1 to 32 letters, digits, "),
        ({"type": "hello", "bot": "my bot"}, f"hello: bot is 'my bot': {NAME_DESCRIPTION}"),
        ({"type": "hello", "bot": "-a"}, "hello: bot is '-a': "),
        ({"type": "hello", "bot": "a" * 33}, "hello: bot is 'aaa"),
        ({"type": "hello", "bot": "a", "token": "short"}, "hello: token has 5 characters: 16 to 128 characters"),
        ({"type": "hello", "bot": "a", "token": "t" * 129}, "hello: token has 129 characters: 16 to 128 characters"),
        ({"type": "hello", "slots": 0}, "hello: slots is 0: an integer from 1 to 64"),
        ({"type": "hello", "slots": 65}, "hello: slots is 65: an integer from 1 to 64"),
        ({"type": "hello", "slots": 1.5}, "hello: slots is 1.5: an integer from 1 to 64"),
        ({"type": "hello", "slots": True}, "hello: slots is True: an integer from 1 to 64"),
        ({"type": "hello", "version": "v" * 65}, "at most 64 characters, without control or invisible characters"),
        ({"type": "hello", "client": "c" * 65}, "hello: client is 'ccc"),
        ({"type": "hello", "follow": 1}, "hello: follow is 1: true or false"),
        ({"type": "seek", "game": "nim"}, "seek: id is missing: a word of your own, 1 to 64 characters"),
        ({"type": "seek", "id": "", "game": "nim"}, "seek: id is '': a word of your own, 1 to 64 characters"),
        ({"type": "seek", "id": "i" * 65, "game": "nim"}, "seek: id is 'iii"),
        ({"type": "seek", "id": "1", "game": "g" * 65}, "seek: game is 'ggg"),
        ({"type": "seek", "id": "1", "game": "nim", "config": []}, "seek: config is []: a map"),
        (
            {"type": "seek", "id": "1", "game": "nim", "opponents": ["ann", "b b"]},
            f"seek: opponents[1] is 'b b': {NAME_DESCRIPTION}",
        ),
        (
            {"type": "seek", "id": "1", "game": "nim", "opponents": ["ann"] * 700 + ["b b"] * 2 + ["ann"]},
            "seek: opponents[700] is 'b b': ",
        ),
        ({"type": "seek", "id": "1", "game": "nim", "opponents": "ann"}, "seek: opponents is 'ann': a list"),
        ({"type": "ready", "match": "m", "nonce": "A" * 32}, "ready: nonce is 'AAA"),
        ({"type": "ready", "match": "m", "nonce": "a" * 31}, "16 bytes in lower-case hex, 32 digits"),
        ({"type": "move", "match": "m", "ply": -1, "move": {}}, "move: ply is -1: an integer from 0"),
        ({"type": "move", "match": "m", "move": {}}, "move: ply is missing: an integer from 0"),
        (
            {"type": "move", "match": "m", "ply": 0},
            "move: move is missing: a map, in the form of the game's moves",
        ),
        ({"type": "watch"}, "watch: match is missing: the id of a match, or * for all"),
        ({"type": "watch", "match": "m" * 41}, "watch: match is 'mmm"),
        ({"type": "turn"}, "there is no type 'turn': one of hello, seek"),
        ({"type": "x" * 500}, "there is no type 'xxx"),
        ({"type": 5}, "there is no type 5"),
        ({"type": []}, "there is no type []"),
        ({"match": "m"}, "the message has no type: it must be one of hello, seek"),
        ({}, "the message has no type"),
        ([], "a message must be a map, not list"),
        (1, "a message must be a map, not int"),
        (None, "a message must be a map, not NoneType"),
    ],
)
def test_a_message_that_is_wrong_is_refused_by_the_name_of_its_field(encoding: Codec, value: Any, said: str) -> None:
    text = complaint(encoding, value)
    assert said in text
    assert len(text) < 300


@BOTH
def test_an_array_may_hold_1024_entries_and_a_map_128(encoding: Codec) -> None:
    for content in ([0] * 1024, {str(i): 0 for i in range(128)}, nested(6)):
        assert encoding.decode_client(encoding.encode(Move(match="m", ply=0, move=content)))


@BOTH
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([0] * 1025, "1025"),
        ({str(i): 0 for i in range(129)}, "129"),
        (nested(8), "nested deeper than 8 levels"),
        ({"a": {"b": nested(6)}}, "nested deeper than 8 levels"),
    ],
)
def test_one_more_than_a_limit_is_refused(encoding: Codec, content: Any, said: str) -> None:
    assert said in complaint(encoding, move(content))


def test_a_frame_of_json_is_measured_in_bytes() -> None:
    error = {"type": "error", "code": "c", "message": "é" * (MAX_SERVER_FRAME_BYTES // 2)}
    for message, decode, most in (
        (move(["é" * 2000] * 5), JSON.decode_client, MAX_CLIENT_FRAME_BYTES),
        (error, JSON.decode_server, MAX_SERVER_FRAME_BYTES),
    ):
        text = json.dumps(message, ensure_ascii=False)
        assert len(text) < most < len(text.encode())
        with pytest.raises(MalformedMessage, match=f"^a frame of {len(text.encode())} bytes: at most {most}$"):
            decode(text)


@BOTH
def test_a_server_frame_has_at_most_1_mib(encoding: Codec) -> None:
    big = Error(code="c", message="m" * (MAX_SERVER_FRAME_BYTES - 1000))
    assert encoding.decode_server(encoding.encode(big)) == big
    with pytest.raises(MalformedMessage, match="at most 1048576"):
        encoding.decode_server(encoding.encode(Error(code="c", message="m" * MAX_SERVER_FRAME_BYTES)))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused(number: float) -> None:
    assert "not finite" in complaint(MSGPACK, move(number))
    assert "JSON" in complaint(JSON, move({"a": number}))


def test_a_number_beyond_64_bits_is_refused() -> None:
    assert "64 bits" in complaint(JSON, move(2**64))
    assert "64 bits" in complaint(JSON, move([-(2**63) - 1]))
    assert JSON.decode_client(frame(JSON, move([2**64 - 1, -(2**63)])))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "a value of type bytes: bin and ext are not allowed"),
        (b"bytes", "5 exceeds max_bin_len(0)"),
        (msgpack.ExtType(1, b""), "a value of type ExtType: bin and ext are not allowed"),
        (msgpack.Timestamp(1), "exceeds max_ext_len(0)"),
        ({1: 2}, "int is not allowed for map key"),
        ({b"": 1}, "a map key that is not a string: b''"),
        ({b"k": 1}, "1 exceeds max_bin_len(0)"),
    ],
)
def test_what_msgpack_alone_can_say_is_refused(content: Any, said: str) -> None:
    assert said in complaint(MSGPACK, move(content))


@pytest.mark.parametrize("value", [b"", b"x", msgpack.ExtType(5, b""), msgpack.ExtType(5, b"x" * 9)])
def test_bytes_and_extensions_are_refused_wherever_they_are(value: Any) -> None:
    assert complaint(MSGPACK, value)
    assert "at ply" not in complaint(MSGPACK, {**move({}), "ply": value}), "refused before any field is looked at"
    for content in ([value], {"heap": value}, {"heap": [[value]]}):
        assert complaint(MSGPACK, move(content))
    of_info = MSGPACK.decode_client(msgpack.packb({**move({}), "info": {"note": value}}))
    assert isinstance(of_info, Move)
    with pytest.raises(MalformedMessage, match=r"^info: "):
        read_info(of_info.info)


@pytest.mark.parametrize("text", [b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80"])
def test_a_msgpack_string_that_is_not_utf8_is_refused(text: bytes) -> None:
    packed = b"\x82\xa4type\xa6resign\xa5match" + bytes([0xA0 + len(text)]) + text
    for decode in (MSGPACK.decode_client, MSGPACK.decode_server):
        with pytest.raises(MalformedMessage, match="utf-8"):
            decode(packed)


@BOTH
@pytest.mark.parametrize(("letter", "most"), [("x", 4096), ("é", 2048), ("€", 1365), ("😀", 1024)])
def test_a_string_is_measured_in_bytes_as_a_value_and_as_a_key(encoding: Codec, letter: str, most: int) -> None:
    full = Move(match="m", ply=0, move=[letter * most, {letter * most: 0}])
    assert encoding.decode_client(encoding.encode(full)) == full
    assert "4096" in complaint(encoding, move([letter * (most + 1)]))
    assert "4096" in complaint(encoding, move({letter * (most + 1): 0}))


@BOTH
def test_a_frame_of_exactly_16_kib_is_read_and_one_byte_more_is_not(encoding: Codec) -> None:
    padding = MAX_CLIENT_FRAME_BYTES - len(frame(encoding, move(["s" * 3000] * 5)))
    exact = move(["s" * 3000] * 4 + ["s" * 3000 + "s" * (padding % 1000)])
    exact["move"][0] += "s" * (padding - padding % 1000)
    assert len(frame(encoding, exact)) == MAX_CLIENT_FRAME_BYTES
    assert encoding.decode_client(frame(encoding, exact))
    exact["move"][1] += "s"
    assert complaint(encoding, exact) == "a frame of 16385 bytes: at most 16384"


@BOTH
@pytest.mark.parametrize(
    "unseen",
    [
        *("\n", "\x1b[2J", "\x7f", "\x9b", "\u061c", "\u200f", "\u2028", "\u202e", "\u2066", "\ufeff"),
        *("\u00ad", "\u180e", "\u3164", "\u2800", "\ufff9"),
    ],
)
@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"type": "hello"}, "version"),
        ({"type": "hello"}, "client"),
        ({"type": "seek", "game": "nim"}, "id"),
    ],
    ids=["version", "client", "id"],
)
def test_text_that_a_terminal_would_obey_is_refused(encoding: Codec, value: Any, field: str, unseen: str) -> None:
    kind = value["type"]
    said = complaint(encoding, {**value, field: f"a{unseen}b"})
    assert said.startswith(f"{kind}: {field} is {escape_unprintable(repr(f'a{unseen}b'))}: ")
    assert said.endswith("64 characters, without control or invisible characters")
    assert said.isprintable()


def test_a_note_may_have_lines_and_no_other_control_characters() -> None:
    assert read_info({"note": "a\n\tb"}) == Info(note="a\n\tb")
    with pytest.raises(MalformedMessage, match=r"info: note is .* without control or invisible ones but tabs"):
        read_info({"note": "\x1b[2J"})


@BOTH
def test_a_refusal_is_one_short_line_whatever_a_field_is_called(encoding: Codec) -> None:
    text = complaint(encoding, {"type": "resign", "match": "m", "\n\x1b[2J" + "x" * 3000: 1})
    assert text.startswith(r"resign: there is no field '\n\x1b[2Jxxx")
    assert text.isprintable()
    assert len(text) < 300


def test_bytes_after_the_message_are_refused() -> None:
    with pytest.raises(MalformedMessage, match="extra"):
        MSGPACK.decode_client(msgpack.packb({"type": "resign", "match": "m"}) + b"\x00")
    with pytest.raises(MalformedMessage, match="JSON"):
        JSON.decode_client('{"type":"resign","match":"m"} {}')


def test_text_that_cannot_be_utf8_is_refused() -> None:
    for text in ("\ud800", '{"type":"resign","match":"\ud800"}', '"\\ud800"'):
        with pytest.raises(MalformedMessage):
            JSON.decode_client(text)
    with pytest.raises(MalformedMessage, match="UTF-8"):
        check_limits("\ud800" * 2000)
    with pytest.raises(MalformedMessage):
        MSGPACK.decode_client(b"\x81\xa4type\xa2\xff\xfe")
