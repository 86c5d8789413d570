"""docs/protocol.md against the code: its frames decode, its lists are complete, its example can be recomputed."""

from __future__ import annotations

import hmac
import json
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

import independent_client
from protocol import close_codes, error_codes
from protocol.codec import JSON, MSGPACK
from protocol.dice import Dice
from protocol.digest import encode_canonical
from protocol.games import load_game
from protocol.messages import PROTOCOL_VERSION, ClientMessage, Info, ServerMessage

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "protocol.md").read_text()
FRAMES = [line for block in re.findall(r"^```json\n(.*?)^```", TEXT, re.M | re.S) for line in block.splitlines()]
TYPES = {str(cls.__struct_config__.tag): cls for cls in (*get_args(ClientMessage), *get_args(ServerMessage))}
FROM_CLIENT = {str(cls.__struct_config__.tag) for cls in get_args(ClientMessage)}
EXAMPLE = "261121-075531-357b800a"


def frames(kind: str, **fields: Any) -> list[dict[str, Any]]:
    """The example frames of a type that have these fields."""
    read = [json.loads(frame) for frame in FRAMES]
    return [frame for frame in read if frame["type"] == kind and fields.items() <= frame.items()]


def field_list(kind: str) -> str:
    found = re.search(rf"`{kind}`:\s+`\{{(.*?)\}}`", TEXT, re.S)
    assert found, f"no list of the fields of {kind}"
    return found[1]


@pytest.mark.parametrize("frame", FRAMES)
def test_every_frame_of_the_document_is_what_the_code_would_send(frame: str) -> None:
    said = json.loads(frame)
    for codec in (JSON, MSGPACK):
        decode = codec.decode_client if said["type"] in FROM_CLIENT else codec.decode_server
        message = decode(frame) if codec is JSON else decode(msgspec.msgpack.encode(said))
        assert message is not None
        assert json.loads(JSON.encode(message)) == said


def test_the_frames_by_which_the_other_document_tells_of_a_match_could_be_sent() -> None:
    text = (ROOT / "docs" / "writing-a-bot.md").read_text()
    told = re.findall(r"^([→←]) (\{.*\})$", text, re.M)
    assert {arrow for arrow, _ in told} == {"→", "←"}
    for arrow, frame in told:
        said = json.loads(frame.replace(", …", ""))
        kind = TYPES[said["type"]]
        assert (said["type"] in FROM_CLIENT) == (arrow == "→")
        assert said.keys() <= {"type", *(field.encode_name for field in msgspec.structs.fields(kind))}
        if arrow == "→":
            assert JSON.decode_client(frame) is not None


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_of_message_is_shown_and_its_fields_are_listed(kind: str) -> None:
    assert frames(kind)
    listed = field_list(kind)
    for field in msgspec.structs.fields(TYPES[kind]):
        name = re.search(rf"(?<![\w.]){field.encode_name}\b(\??)", listed)
        assert name, f"{kind}: {field.encode_name} is not listed"
        required = field.required or field.name == "protocol"
        assert (name[1] == "") == required, f"{kind}: {field.encode_name}"


@pytest.mark.parametrize("kind", TYPES)
def test_no_field_is_listed_that_a_message_does_not_have(kind: str) -> None:
    listed = re.sub(r"[\[{][^{}]*\}\]?", "", field_list(kind))
    names = {re.split(r"[?:=]", item.strip())[0] for item in listed.split(",") if item.strip()}
    assert names == {field.encode_name for field in msgspec.structs.fields(TYPES[kind])}


def test_the_fields_of_info_are_named() -> None:
    for field in msgspec.structs.fields(Info):
        assert f"`{field.encode_name}`" in TEXT


def constants(module: Any) -> set[Any]:
    return {value for name, value in vars(module).items() if name.isupper()}


def test_every_error_code_is_explained_and_there_is_no_other() -> None:
    rows = [re.findall(r"`([a-z_]+)`", line.split("|")[1]) for line in TEXT.splitlines() if line.startswith("| `")]
    assert constants(error_codes) <= {code for row in rows for code in row}
    sources = [path.read_text() for name in ("arena", "protocol") for path in (ROOT / name).rglob("*.py")]
    spelled = {code for text in sources for code in re.findall(r"\bcode ?= ?\"([a-z_]+)\"", text)}
    assert spelled <= constants(error_codes)


def test_every_close_code_of_the_server_is_explained() -> None:
    rows = re.findall(r"^\| (\d{4}[\d, ]*) \|", TEXT, re.M)
    assert constants(close_codes) <= {int(code) for row in rows for code in row.split(",")}


def test_the_worked_example_follows_from_its_seed() -> None:
    (start,) = [frame for frame in frames("start", match=EXAMPLE) if "resumed" not in frame]
    (first,) = frames("turn", match=EXAMPLE, ply=1)
    (second,) = frames("turn", match=EXAMPLE, ply=2)
    (answer,) = frames("move", match=EXAMPLE, ply=2)
    (end,) = frames("end", match=EXAMPLE)
    match = independent_client.Match(start, nonce="")
    match.hear(first)
    match.hear(second)
    event = {"ply": 2, "seat": 1, "move": answer["move"]}
    told = {**end, "events": [event, *end["events"]]}
    match.hear(told)
    match.check(told)
    assert match.digest.hex() == end["digest"]


def test_the_intermediate_hashes_of_the_worked_example_are_right() -> None:
    values = dict(re.findall(r"^(S|K|deal:0:0) +([0-9a-f]{64})$", TEXT, re.M))
    (end,) = frames("end", match=EXAMPLE)
    assert values["S"] == end["seed"]
    stream = independent_client.stream_of(bytes.fromhex(values["K"]), "deal", 0)
    assert bytes(next(stream) for _ in range(32)).hex() == values["deal:0:0"]
    open_cards, _, hidden = TEXT.partition("### Digest of hidden information")
    assert check_chain(open_cards) == 3
    assert check_chain(hidden, bytes.fromhex(values["K"])) == 2


def check_chain(text: str, key: bytes = b"") -> int:
    """See that every digest of a document follows from the one before, and is salted where it says so; how many."""
    chain = re.findall(r"^(\{\"(?:commitment|event).*\})\n(?:salt\(\d\) = (.{64})\n)?D\(\d\) = (.{64})", text, re.M)
    digest = b"bot-arena/1/digest"
    for line, salt, stated in chain:
        assert line.encode() == independent_client.canonical(json.loads(line))
        if salt:
            salted = hmac.digest(key, b"bot-arena/1/salt" + digest, "sha256")
            assert salted.hex() == salt
            digest += salted
        digest = independent_client.sha256(digest, line.encode())
        assert digest.hex() == stated
    return len(chain)


def test_the_salted_example_is_the_deal_of_its_key() -> None:
    key = bytes.fromhex(re.findall("^K +([0-9a-f]{64})$", TEXT, re.M)[-1])
    (line,) = re.findall(r'^\{"event":\{"move":\{"cards".*', TEXT, re.M)
    game = load_game("kuhn", {"hands": 2})
    state, deal = game.initial(Dice(key, 0))
    assert deal is not None
    event = replace(deal, strikes=[])
    assert line.encode() == encode_canonical({"event": event, "state": game.encode_state(state)})


def test_the_version_of_the_protocol_is_the_one_described() -> None:
    assert TEXT.startswith(f"# The wire protocol, version {PROTOCOL_VERSION}\n")
    assert {frame["protocol"] for frame in frames("welcome")} == {PROTOCOL_VERSION}
