"""Frames and messages: every message there and back in both encodings, every limit, and no failure but one."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocol import codec
from protocol.codec import CODECS, JSON, MSGPACK, Codec, check_limits, read_info
from protocol.errors import MalformedMessage
from protocol.messages import (
    MAX_CLIENT_FRAME,
    MAX_SERVER_FRAME,
    Clock,
    End,
    Error,
    Event,
    FromClient,
    FromServer,
    Hello,
    Info,
    Limits,
    List,
    ListedBot,
    ListedMatch,
    ListedSeek,
    Listing,
    Move,
    Outcome,
    Player,
    Ready,
    Rejected,
    Resign,
    Seek,
    Start,
    Turn,
    Unseek,
    Unseeked,
    Unwatch,
    Watch,
    Welcome,
)
from protocol.names import NAME_FORM

BOTH = pytest.mark.parametrize("encoding", CODECS.values(), ids=list(CODECS))

names = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,31}\Z")
matches = st.from_regex(r"\A[a-z0-9-]{1,40}\Z")
nonces = st.from_regex(r"\A[0-9a-f]{32}\Z")
digests = st.from_regex(r"\A[0-9a-f]{64}\Z")
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
labels = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), max_size=20)
numbers = st.integers(-(2**63), 2**64 - 1)
counts = st.integers(0, 2**32)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | floats | words
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))
maps = st.dictionaries(words, values, max_size=3)
events = st.builds(
    Event,
    ply=counts,
    seat=st.integers(-1, 5),
    move=st.none() | maps,
    dice=st.none() | st.lists(st.lists(st.integers(1, 6), max_size=3), max_size=3),
    result=st.none() | maps,
    out=st.none() | words,
)
players = st.builds(Player, bot=names, version=words, mu=st.none() | floats, sigma=st.none() | floats)

FROM_CLIENT: dict[type[FromClient], st.SearchStrategy[Any]] = {
    Hello: st.builds(
        Hello,
        bot=st.none() | names,
        token=st.none() | st.text("abc123", min_size=16, max_size=128),
        version=labels,
        client=labels,
        slots=st.integers(1, 64),
        follow=st.booleans(),
    ),
    Seek: st.builds(
        Seek,
        id=st.text("abc", min_size=1, max_size=64),
        game=words,
        config=maps,
        rated=st.booleans(),
        opponent=st.none() | names,
        opponents=st.lists(names, max_size=5),
        open=st.booleans(),
        slow=st.booleans(),
    ),
    Unseek: st.builds(Unseek, id=st.text("abc", min_size=1, max_size=64)),
    Ready: st.builds(Ready, match=matches, nonce=st.none() | nonces),
    Move: st.builds(Move, match=matches, ply=counts, move=values, info=values),
    Resign: st.builds(Resign, match=matches),
    Watch: st.builds(Watch, match=matches | st.just("*")),
    Unwatch: st.builds(Unwatch, match=matches | st.just("*")),
    List: st.builds(List),
}
FROM_SERVER: dict[type[FromServer], st.SearchStrategy[Any]] = {
    Welcome: st.builds(
        Welcome,
        bot=st.none() | names,
        token=st.none() | words,
        games=st.lists(words, max_size=3),
        limits=st.builds(Limits, max_message=counts, strikes=counts, slots=counts),
        resumed=st.lists(matches, max_size=3),
    ),
    Unseeked: st.builds(Unseeked, id=words),
    Start: st.builds(
        Start,
        match=matches,
        seek=st.none() | words,
        game=words,
        config=maps,
        seat=st.none() | counts,
        seats=st.lists(players, max_size=3),
        clock=st.builds(Clock, bank_ms=counts, increment_ms=counts),
        commitment=digests,
        rated=st.booleans(),
        resumed=st.booleans(),
    ),
    Turn: st.builds(
        Turn,
        match=matches,
        ply=counts,
        to_move=counts,
        state=maps,
        events=st.lists(events, max_size=3),
        clock=st.lists(counts, max_size=3),
        legal=st.none() | st.lists(maps, max_size=3),
        options=st.none() | maps,
        digest=digests,
        nonces=st.none() | st.lists(nonces, max_size=3),
    ),
    Rejected: st.builds(
        Rejected,
        match=matches,
        ply=counts,
        code=words,
        message=words,
        strikes_left=st.none() | counts,
        clock_ms=st.none() | counts,
    ),
    End: st.builds(
        End,
        match=matches,
        ply=counts,
        events=st.lists(events, max_size=3),
        state=maps,
        digest=digests,
        ranks=st.lists(counts, max_size=3),
        reason=words,
        seats=st.lists(
            st.builds(Outcome, bot=names, rank=counts, reason=words, mu_after=st.none() | floats), max_size=3
        ),
        seed=st.none() | digests,
        nonces=st.lists(nonces, max_size=3),
        record=words,
    ),
    Listing: st.builds(
        Listing,
        bots=st.lists(st.builds(ListedBot, bot=names, seeks=st.lists(st.builds(ListedSeek, game=words))), max_size=3),
        matches=st.lists(
            st.builds(
                ListedMatch,
                match=matches,
                game=words,
                seats=st.lists(names),
                ply=counts,
                started=words,
                rated=st.booleans(),
                watchers=counts,
            ),
            max_size=3,
        ),
        more_bots=counts,
        more_matches=counts,
    ),
    Error: st.builds(Error, code=words, message=words, ref=st.none() | words, fatal=st.booleans()),
}


def frame(encoding: Codec, value: Any) -> bytes | str:
    return json.dumps(value) if encoding is JSON else msgpack.packb(value)


def complaint(encoding: Codec, value: Any) -> str:
    with pytest.raises(MalformedMessage) as caught:
        encoding.decode_client(frame(encoding, value))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def move(content: Any) -> dict[str, Any]:
    return {"type": "move", "match": "m", "ply": 0, "move": content}


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 1


# Round trips


def test_the_strategies_cover_every_message() -> None:
    assert set(FROM_CLIENT) == set(FromClient.__subclasses__())
    assert set(FROM_SERVER) == set(FromServer.__subclasses__())


@BOTH
@given(message=st.one_of(*FROM_CLIENT.values()))
def test_what_a_client_sends_arrives_as_it_was(encoding: Codec, message: FromClient) -> None:
    assert encoding.decode_client(encoding.encode(message)) == message


@pytest.mark.no_cover
@BOTH
@given(message=st.one_of(*FROM_SERVER.values()))
def test_what_the_server_sends_arrives_as_it_was(encoding: Codec, message: FromServer) -> None:
    assert encoding.decode_server(encoding.encode(message)) == message


@pytest.mark.no_cover
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


# What is refused, and how it is said


@BOTH
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"type": "resign"}, "resign: match is missing: the id of a match, as its start has it"),
        ({"type": "resign", "match": "m", "extra": 1}, "resign: there is no field 'extra': one of match"),
        ({"type": "resign", "match": 7}, "resign: match is 7: the id of a match, as its start has it"),
        ({"type": "resign", "match": "M"}, "resign: match is 'M': the id of a match"),
        ({"type": "resign", "match": "m" * 41}, "resign: match is 'mmm"),
        ({"type": "hello", "bot": ""}, "hello: bot is '': 1 to 32 letters, digits, "),
        ({"type": "hello", "bot": "my bot"}, f"hello: bot is 'my bot': {NAME_FORM}"),
        ({"type": "hello", "bot": "-a"}, "hello: bot is '-a': "),
        ({"type": "hello", "bot": "a" * 33}, "hello: bot is 'aaa"),
        ({"type": "hello", "bot": "a", "token": "short"}, "hello: token has 5 characters: 16 to 128 characters"),
        ({"type": "hello", "bot": "a", "token": "t" * 129}, "hello: token has 129 characters: 16 to 128 characters"),
        ({"type": "hello", "slots": 0}, "hello: slots is 0: an integer from 1 to 64"),
        ({"type": "hello", "slots": 65}, "hello: slots is 65: an integer from 1 to 64"),
        ({"type": "hello", "slots": 1.5}, "hello: slots is 1.5: an integer from 1 to 64"),
        ({"type": "hello", "slots": True}, "hello: slots is True: an integer from 1 to 64"),
        ({"type": "hello", "version": "v" * 65}, "at most 64 characters, none a control or invisible one"),
        ({"type": "hello", "client": "c" * 65}, "hello: client is 'ccc"),
        ({"type": "hello", "follow": 1}, "hello: follow is 1: true or false"),
        ({"type": "seek", "game": "nim"}, "seek: id is missing: a word of your own, 1 to 64 characters"),
        ({"type": "seek", "id": "", "game": "nim"}, "seek: id is '': a word of your own, 1 to 64 characters"),
        ({"type": "seek", "id": "i" * 65, "game": "nim"}, "seek: id is 'iii"),
        ({"type": "seek", "id": "1", "game": "g" * 65}, "seek: game is 'ggg"),
        ({"type": "seek", "id": "1", "game": "nim", "config": []}, "seek: config is []: a map"),
        (
            {"type": "seek", "id": "1", "game": "nim", "opponents": ["ann", "b b"]},
            f"seek: opponents[1] is 'b b': {NAME_FORM}",
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
            "move: move is missing: a map, in the form that the game's moves have",
        ),
        ({"type": "watch"}, "watch: match is missing: the id of a match, or * for all"),
        ({"type": "watch", "match": "m" * 41}, "watch: match is 'mmm"),
        ({"type": "turn"}, "there is no type 'turn': one of hello, seek"),
        ({"type": "x" * 500}, "there is no type 'xxx"),
        ({"type": 5}, "there is no type 5"),
        ({"type": []}, "there is no type []"),
        ({"match": "m"}, "the message has no type: one of hello, seek"),
        ({}, "the message has no type"),
        ([], "a message is a map, not list"),
        (1, "a message is a map, not int"),
        (None, "a message is a map, not NoneType"),
    ],
)
def test_a_message_that_is_wrong_is_refused_by_the_name_of_its_field(encoding: Codec, value: Any, said: str) -> None:
    text = complaint(encoding, value)
    assert said in text
    assert len(text) < 300


@BOTH
def test_an_array_may_hold_1024_entries_a_map_128_and_a_string_4096_bytes(encoding: Codec) -> None:
    for content in ([0] * 1024, {str(i): 0 for i in range(128)}, "s" * 4096, "é" * 2048, nested(6)):
        assert encoding.decode_client(encoding.encode(Move(match="m", ply=0, move=content)))


@BOTH
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([0] * 1025, "1025"),
        ({str(i): 0 for i in range(129)}, "129"),
        ("s" * 4097, "4096 bytes|4097"),
        ("é" * 2049, "4096 bytes|4098"),
        ({"é" * 2049: 0}, "4096 bytes|4098"),
        (nested(8), "nested deeper than 8 levels"),
        ({"a": {"b": nested(6)}}, "nested deeper than 8 levels"),
    ],
)
def test_one_more_than_a_limit_is_refused(encoding: Codec, content: Any, said: str) -> None:
    assert any(part in complaint(encoding, move(content)) for part in said.split("|"))


@BOTH
def test_a_client_frame_has_at_most_16_kib(encoding: Codec) -> None:
    empty = len(frame(encoding, move([""] * 8)))
    full = (MAX_CLIENT_FRAME - empty) // 8
    assert encoding.decode_client(frame(encoding, move(["s" * (full - 8)] * 8)))
    assert "at most 16384" in complaint(encoding, move(["s" * 3000] * 8))


def test_a_frame_of_json_is_measured_in_bytes() -> None:
    text = json.dumps(move(["é" * 2000] * 5), ensure_ascii=False)
    assert len(text) < MAX_CLIENT_FRAME < len(text.encode())
    with pytest.raises(MalformedMessage, match="at most 16384"):
        JSON.decode_client(text)


@BOTH
def test_a_server_frame_has_at_most_1_mib(encoding: Codec) -> None:
    big = Error(code="c", message="m" * (MAX_SERVER_FRAME - 1000))
    assert encoding.decode_server(encoding.encode(big)) == big
    with pytest.raises(MalformedMessage, match="at most 1048576"):
        encoding.decode_server(encoding.encode(Error(code="c", message="m" * MAX_SERVER_FRAME)))


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
        (b"", "a value of type bytes: no bin or ext"),
        (b"bytes", "5 exceeds max_bin_len(0)"),
        (msgpack.ExtType(1, b""), "a value of type ExtType: no bin or ext"),
        (msgpack.Timestamp(1), "exceeds max_ext_len(0)"),
        ({1: 2}, "int is not allowed for map key"),
        ({b"": 1}, "a map key that is no string: b''"),
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
    assert complaint(MSGPACK, {**move({}), "info": {"note": value}})


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
    padding = MAX_CLIENT_FRAME - len(frame(encoding, move(["s" * 3000] * 5)))
    exact = move(["s" * 3000] * 4 + ["s" * 3000 + "s" * (padding % 1000)])
    exact["move"][0] += "s" * (padding - padding % 1000)
    assert len(frame(encoding, exact)) == MAX_CLIENT_FRAME
    assert encoding.decode_client(frame(encoding, exact))
    exact["move"][1] += "s"
    assert complaint(encoding, exact) == "a frame of 16385 bytes: at most 16384"


@BOTH
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"type": "hello", "bot": "bot\n"}, r"hello: bot is 'bot\n': "),
        ({"type": "resign", "match": "m\n"}, r"resign: match is 'm\n': "),
        ({"type": "ready", "match": "m", "nonce": "0" * 32 + "\n"}, "ready: nonce is '000"),
        ({"type": "seek", "id": "1", "game": "nim", "opponent": "bot\n"}, r"seek: opponent is 'bot\n': "),
    ],
)
def test_a_line_break_after_a_name_is_refused(encoding: Codec, value: Any, said: str) -> None:
    assert complaint(encoding, value).startswith(said)


@BOTH
def test_a_token_is_not_shown_where_it_is_wrong(encoding: Codec) -> None:
    assert (
        complaint(encoding, {"type": "hello", "token": ["secret"]}) == "hello: token is no text: 16 to 128 characters"
    )


@BOTH
@pytest.mark.parametrize(
    "unseen", ["\n", "\x1b[2J", "\x7f", "\x9b", "\u061c", "\u200f", "\u2028", "\u202e", "\u2066", "\ufeff"]
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
    assert said.startswith(f"{kind}: {field} is {f'a{unseen}b'!r}: ")
    assert said.endswith("64 characters, none a control or invisible one")
    assert said.isprintable()


def test_a_note_may_have_lines_and_no_other_control_characters() -> None:
    assert read_info({"note": "a\n\tb"}) == Info(note="a\n\tb")
    with pytest.raises(MalformedMessage, match=r"info: note is .* none a control or invisible one but tabs"):
        read_info({"note": "\x1b[2J"})


@BOTH
def test_a_refusal_is_one_short_line_whatever_a_field_is_called(encoding: Codec) -> None:
    text = complaint(encoding, {"type": "resign", "match": "m", "\n\x1b[2J" + "x" * 3000: 1})
    assert text.startswith(r"resign: there is no field '\n\x1b[2Jxxx")
    assert text.isprintable()
    assert len(text) < 300


@BOTH
@settings(max_examples=20)
@given(message=st.one_of(*FROM_CLIENT.values(), *FROM_SERVER.values()))
def test_a_truncated_frame_is_malformed_wherever_it_ends(encoding: Codec, message: FromClient | FromServer) -> None:
    whole = encoding.encode(message)
    for end in {*range(min(40, len(whole))), len(whole) - 1}:
        for decode in (encoding.decode_client, encoding.decode_server):
            with pytest.raises(MalformedMessage):
                decode(whole[:end])


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


# Garbage and bombs


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
        b"\x91" * MAX_CLIENT_FRAME,
        b"\xdd\x00\x00\x04\x00" * (MAX_CLIENT_FRAME // 5),
        b"\xdd\xff\xff\xff\xff" * (MAX_CLIENT_FRAME // 5),
        b"\xdf\xff\xff\xff\xff" * (MAX_CLIENT_FRAME // 5),
        b"\xdc\x04\x00" * (MAX_CLIENT_FRAME // 3),
        b"\xdb\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        "[" * MAX_CLIENT_FRAME,
        '{"a":' * (MAX_CLIENT_FRAME // 5),
        "9" * MAX_CLIENT_FRAME,
    ],
    ids=lambda bomb: repr(bomb[:5]),
)
def test_a_bomb_of_16_kib_costs_little_memory(bomb: bytes | str) -> None:
    encoding = MSGPACK if isinstance(bomb, bytes) else JSON
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage):
            encoding.decode_client(bomb)
        # msgpack makes room for an announced array at once, at most 8 KiB, and gives up at 1024 levels of them
        assert tracemalloc.get_traced_memory()[1] < 9 * 1024 * 1024
    finally:
        tracemalloc.stop()


# What clients are lenient about


@BOTH
def test_a_client_ignores_fields_and_types_it_does_not_know(encoding: Codec) -> None:
    wire = {"type": "unseeked", "id": "1", "since": "version 2"}
    assert encoding.decode_server(frame(encoding, wire)) == Unseeked(id="1")
    assert encoding.decode_server(frame(encoding, {"type": "applause", "volume": 11})) is None


@BOTH
@pytest.mark.parametrize("value", [1, [], {}, {"type": 3}])
def test_a_server_message_without_a_type_is_malformed(encoding: Codec, value: Any) -> None:
    with pytest.raises(MalformedMessage, match="a map with a string type"):
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


# The parts of a message


def test_info_is_checked_apart_from_its_move() -> None:
    assert read_info(None) is None
    assert read_info({"value": 1, "note": "n" * 256}) == Info(value=1.0, note="n" * 256)
    for info in ({"note": "n" * 257}, {"depth": -1}, {"nodes": "many"}, {"mood": "good"}, [], "fine"):
        with pytest.raises(MalformedMessage, match=r"^info(:| is) "):
            read_info(info)


def test_the_limits_are_those_of_the_protocol() -> None:
    assert (codec.MAX_ARRAY, codec.MAX_MAP, codec.MAX_STRING, codec.MAX_DEPTH) == (1024, 128, 4096, 8)
    assert (MAX_CLIENT_FRAME, MAX_SERVER_FRAME) == (16384, 1048576)
