"""The digest chain, computed a second time with nothing but hashlib and json."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocol.digest import encode_canonical, first_digest, next_digest, strikes_digest
from protocol.messages import Event

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | text
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4))


def plain(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@given(values)
def test_the_canonical_form_is_that_of_any_json_library(value: Any) -> None:
    assert encode_canonical(value) == plain(value)


def test_every_character_is_spelled_as_pythons_json_spells_it() -> None:
    everything = "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF)
    assert encode_canonical(everything) == plain(everything)


def test_keys_are_sorted_by_code_point_at_every_depth() -> None:
    value = {"b": [{"z": 1, "a": 2}], "\U0001f600": 1, "\uffff": 2, "é": None, "B": True}
    assert encode_canonical(value) == '{"B":true,"b":[{"a":2,"z":1}],"é":null,"\uffff":2,"\U0001f600":1}'.encode()


def test_the_first_digest_binds_what_is_fixed_before_the_match() -> None:
    opening = {
        "match": "m-1",
        "game": "nim",
        "config": {"heaps": [1], "misere": False, "start": "given", "take": None},
        "seats": ["ann", "bob"],
        "commitment": "00" * 32,
        "nonces": ["", "11" * 16],
    }
    config: Any = opening["config"]
    digest = first_digest("m-1", "nim", config, ["ann", "bob"], bytes(32), [b"", b"\x11" * 16])
    assert digest == hashlib.sha256(b"bot-arena/1/digest" + plain(opening)).digest()
    assert digest.hex() == "e42ba2d08295ffed3073f9bd2438094117e2e2260119813acfb1ee16327b3c82"


def test_every_digest_hashes_the_one_before_the_event_and_the_state_after_it() -> None:
    event = Event(ply=0, seat=0, move={"heap": 0, "take": 1})
    state = {"heaps": (0,), "to_move": None, "ply": 1}
    digest = next_digest(bytes(32), event, state)
    content = {
        "event": {"ply": 0, "seat": 0, "move": {"heap": 0, "take": 1}},
        "state": {"heaps": [0], "to_move": None, "ply": 1},
    }
    assert digest == hashlib.sha256(bytes(32) + plain(content)).digest()
    assert digest.hex() == "a9ed7151e4bc0ca92cbb4104463d6f7cb8418731838c2658f650d0417f2fb664"


def test_an_event_is_digested_as_it_travels_without_what_is_absent() -> None:
    left = next_digest(bytes(32), Event(ply=4, seat=1, out="timeout"), {})
    content = {"event": {"ply": 4, "seat": 1, "out": "timeout"}, "state": {}}
    assert left == hashlib.sha256(bytes(32) + plain(content)).digest()


def test_strikes_that_no_event_told_of_are_digested_by_their_seats() -> None:
    assert strikes_digest(bytes(32), [0, 1]) == hashlib.sha256(bytes(32) + b'{"strikes":[0,1]}').digest()
