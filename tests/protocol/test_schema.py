"""The checked-in JSON Schema, and docs/protocol.md against it, against the codec, and against dice and digests."""

from __future__ import annotations

import hmac
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # comes with check-jsonschema
from msgspec.structs import replace

from protocol.codec import JSON, MSGPACK
from protocol.dice import Dice, commitment, match_key
from protocol.digest import encode_canonical, first_digest, next_digest
from protocol.games import game_class, game_names, load_game
from protocol.messages import End, Event, FromClient, FromServer, Start, Turn
from protocol.schema import message_schema, schema_text
from referee import record_reader
from referee.record import Ply
from referee.replay import replay

DOCS = Path(__file__).parents[2] / "docs"
CONTRACT = (DOCS / "protocol.md").read_text()
FRAMES = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", CONTRACT, re.DOTALL | re.MULTILINE)]
GOLDEN = {path.stem: path for path in (DOCS.parent / "tests" / "golden").glob("*.jsonl")}
ENCODED_GAMES = re.findall(r"^\| `([\w-]+)` \| `\{", CONTRACT, re.MULTILINE)
"""The games of the document's table of encodings. Newer games are in docs/rules.md alone."""
DEFS = message_schema()["$defs"]
CLIENT_TYPES = {cls.__struct_config__.tag for cls in FromClient.__subclasses__()}
SERVER_TYPES = {cls.__struct_config__.tag for cls in FromServer.__subclasses__()}


def complaints(value: Any, part: str) -> list[str]:
    """Where `value` breaks a part of the schema."""
    schema = {"$ref": f"#/$defs/{part}", "$defs": DEFS}
    return [error.message for error in Draft202012Validator(schema).iter_errors(value)]


def frame(kind: str, **fields: Any) -> dict[str, Any]:
    """The document's first frame of this type with these fields."""
    return next(f for f in FRAMES if f["type"] == kind and all(f.get(key) == value for key, value in fields.items()))


def test_the_checked_in_schema_is_what_the_messages_say() -> None:
    command = [sys.executable, "-m", "protocol.schema"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert made == schema_text()
    assert made == (DOCS / "messages.schema.json").read_text(), (
        "run: python -m protocol.schema > docs/messages.schema.json"
    )


def test_the_schema_has_every_message_and_nothing_refers_to_what_is_not_there() -> None:
    types = {part["properties"]["type"]["enum"][0] for part in DEFS.values() if "type" in part.get("properties", {})}
    assert types == CLIENT_TYPES | SERVER_TYPES
    assert len(DEFS["ClientMessage"]["oneOf"]) == len(CLIENT_TYPES)
    assert len(DEFS["ServerMessage"]["oneOf"]) == len(SERVER_TYPES)
    assert set(re.findall(r"#/\$defs/(\w+)", schema_text())) <= DEFS.keys()


def test_the_schema_refuses_an_unknown_field_of_a_client_and_allows_one_of_the_server() -> None:
    assert complaints({"type": "resign", "match": "m", "why": "tired"}, "ClientMessage")
    assert complaints({"type": "resign"}, "ClientMessage")
    assert complaints({"type": "move", "match": "m", "ply": 0, "move": 4}, "ClientMessage")
    assert not complaints({"type": "unseeked", "id": "s", "new": 1}, "ServerMessage")


def test_the_document_shows_every_message() -> None:
    assert {shown["type"] for shown in FRAMES} == CLIENT_TYPES | SERVER_TYPES


@pytest.mark.parametrize("shown", FRAMES, ids=lambda shown: shown["type"])
def test_a_frame_in_the_document_is_a_message_as_it_is_sent(shown: dict[str, Any]) -> None:
    side = "ClientMessage" if shown["type"] in CLIENT_TYPES else "ServerMessage"
    assert complaints(shown, side) == []
    decode = JSON.decode_client if side == "ClientMessage" else JSON.decode_server
    message = decode(json.dumps(shown))
    assert message is not None
    assert json.loads(JSON.encode(message)) == shown
    decode = MSGPACK.decode_client if side == "ClientMessage" else MSGPACK.decode_server
    assert decode(MSGPACK.encode(message)) == message


def test_the_documents_dice_and_digests_are_right() -> None:
    start, turn = frame("start", seat=0), frame("turn", ply=1)
    end = frame("end", match=start["match"])
    assert {type(JSON.decode_server(json.dumps(m))) for m in (start, turn, end)} == {Start, Turn, End}
    match, seed, nonces = start["match"], bytes.fromhex(end["seed"]), [bytes.fromhex(n) for n in end["nonces"]]
    assert commitment(match, seed).hex() == start["commitment"]
    key = match_key(match, seed, nonces)
    assert key.hex() in CONTRACT
    game = load_game(start["game"], start["config"])
    state, deal = game.initial(Dice(key, 0))
    assert deal is not None
    event: Event | None = replace(deal, strikes=[])
    assert game.encode_state(state)["heaps"] == (1, 4, 0)
    seats = [player["bot"] for player in start["seats"]]
    digest = first_digest(match, start["game"], start["config"], seats, bytes.fromhex(start["commitment"]), nonces)
    assert digest.hex() in CONTRACT
    moves = [frame("move", ply=1)["move"], frame("move", ply=2)["move"], {"heap": 0, "take": 1}]
    while event is not None:
        wire = game.encode_state(state)
        digest = next_digest(digest, event, wire)
        assert event.ply > 1 or encode_canonical({"event": event, "state": wire}).decode() in CONTRACT
        assert event.ply > 1 or digest.hex() in CONTRACT
        state, event = _moved(game, state, moves, key)
    assert digest.hex() == end["digest"]


def _moved(game: Any, state: Any, moves: list[dict[str, int]], key: bytes) -> tuple[Any, Event | None]:
    if not moves:
        assert game.to_move(state) is None
        return state, None
    moved: tuple[Any, Event] = game.apply(state, game.decode_move(moves.pop(0)), Dice(key, game.ply(state)))
    return moved


@pytest.mark.parametrize("name", ENCODED_GAMES)
def test_the_document_shows_the_whole_default_config_of_a_game(name: str) -> None:
    row = next(line for line in CONTRACT.splitlines() if line.startswith(f"| `{name}` | `{{"))
    config, state, move = (json.loads(cell.strip(" `").replace("{...}", "{}")) for cell in row.split("|")[2:5])
    game = game_class(name)({})
    assert list(config) == list(game.config)
    assert {**config, "map": game.config.get("map")} == {**game.config, "map": game.config.get("map")}
    if "map" in config:  # the states in the document are those of a small map
        assert config["map"] == {}
        game = load_game(name, {"map": "south-america"})
    assert json.loads(encode_canonical(game.encode_state(game.initial(Dice(b"", 0))[0]))) == state
    assert game.decode_move(move) in game.legal_moves(game.decode_state(state))


@pytest.mark.parametrize("shown", [shown for shown in FRAMES if shown.get("match") in GOLDEN], ids=lambda f: f["match"])
def test_a_frame_in_the_document_is_from_the_golden_match_of_its_name(shown: dict[str, Any]) -> None:
    record = record_reader.read_record(GOLDEN[shown["match"]].read_bytes(), shown["match"])
    header = record.header
    if shown["type"] == "start":
        assert shown["config"] == header.config
        assert shown["commitment"] == header.commitment
        return
    last, course = next(
        (line, course)
        for line, course in replay(record)
        if isinstance(line, Ply) and course.ply == shown["ply"] and course.encoded_state["to_move"] == shown["to_move"]
    )
    game, seat = course.game, course.awaited_seats[-1]
    legal, options = course.legal_moves(seat)
    assert json.loads(encode_canonical(game.view(course.encoded_state, seat))) == shown["state"]
    assert (legal, options) == (shown["legal"], shown.get("options"))
    assert (last.digest, last.clock) == (shown["digest"], shown["clock"])
    plies = list(record.plies)
    told = [json.loads(encode_canonical(game.view_event(line.event, seat))) for line in plies[: plies.index(last) + 1]]
    assert told[-len(shown["events"]) :] == shown["events"]


def test_the_documents_dice_of_an_attack_and_of_a_deal_are_right() -> None:
    keys = re.findall(r"^K +([0-9a-f]{64})$", CONTRACT, re.MULTILINE)
    duel, campaign = bytes.fromhex(keys[0]), bytes.fromhex(keys[1])
    config_of_deal = re.search(r"^D +([0-9a-f]{32})$", CONTRACT, re.MULTILINE)
    assert config_of_deal is not None
    blocks = [(duel, "attack:6:0"), (campaign, "deal:0:0"), (bytes.fromhex(config_of_deal[1]), "deal:0:0")]
    for key, label in blocks:
        assert hmac.digest(key, label.encode(), "sha256").hex() in CONTRACT
    (attack,) = [event for event in frame("turn", ply=7)["events"] if "dice" in event]
    rolled = Dice(duel, 6)
    assert [[rolled.roll("attack")], [rolled.roll("attack")]] == attack["dice"]
    first = frame("turn", match="campaign-drop-out", ply=1)
    game = load_game("risk-campaign", {"map": "europe", "players": 3})
    assert game.config_of_deal(Dice(campaign, 0))["deal"] == config_of_deal[1]
    dealt = json.loads(encode_canonical(game.initial(Dice(campaign, 0))[1]))
    assert dealt | {"strikes": []} == first["events"][0]
    shuffled = Dice(bytes.fromhex(config_of_deal[1]), 0).shuffle("deal", range(7))
    assert f"shuffled          {' '.join(map(str, shuffled))} " in CONTRACT


def test_the_document_names_all_its_games_where_an_arena_lists_them() -> None:
    assert [name for name in game_names() if name in ENCODED_GAMES] == ENCODED_GAMES
    assert all(shown["games"] == ENCODED_GAMES for shown in FRAMES if shown["type"] == "welcome")
    assert frame("error", code="unknown_game")["message"].endswith(f": one of {', '.join(ENCODED_GAMES)}")
