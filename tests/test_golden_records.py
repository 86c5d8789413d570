"""Golden records, checked in: the rules, the dice and the digests of today still give them, bit for bit.

When rules change on purpose: python tests/golden/make.py
and look at what `git diff --stat tests/golden` says has changed before you commit it.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from arena.replay.verify import verify_record
from golden import make
from independent_client import canonical, sha256
from protocol.dice import Dice, match_key
from protocol.games import load_game
from protocol.games.base import Game
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE
from referee import record_reader
from referee.effects import DeadlineReached, MatchEvent, MoveReceived, Resignation
from referee.match import Match
from referee.record import Ply, Record, Sealed, Strike

every_record = pytest.mark.parametrize("name", make.GOLDEN)


def data(name: str) -> bytes:
    return make.HERE.joinpath(f"{name}.jsonl").read_bytes()


def golden(name: str) -> Record:
    return record_reader.read_record(data(name), name)


def opened(record: Record) -> tuple[bytes, list[bytes]]:
    return bytes.fromhex(record.footer.seed), [bytes.fromhex(nonce) for nonce in record.footer.nonces]


def what_happened(record: Record) -> Callable[[Match], MatchEvent]:
    """What came into the referee, as far as a record holds it."""

    def events() -> Iterator[MatchEvent]:
        for line in record.lines:
            if isinstance(line, Sealed):
                yield MoveReceived(line.seat, line.ply, line.move)
            elif isinstance(line, Strike):
                yield MoveReceived(line.seat, line.ply, None)
            elif isinstance(line, Ply) and line.event.out == "illegal":
                continue
            elif isinstance(line, Ply) and line.event.out is not None:
                yield Resignation(line.event.seat) if line.event.out == "resigned" else DeadlineReached()
            elif isinstance(line, Ply) and line.event.seat != CHANCE:
                yield MoveReceived(line.event.seat, line.event.ply, line.event.move)

    coming = events()
    return lambda match: next(coming)


def test_every_golden_record_is_checked_in_and_no_other() -> None:
    assert {path.stem for path in make.HERE.glob("*.jsonl")} == set(make.GOLDEN)


@every_record
def test_a_golden_record_verifies(name: str) -> None:
    verify_record(golden(name))


@every_record
def test_a_golden_match_refereed_again_gives_the_same_bytes(name: str) -> None:
    record = golden(name)
    assert make.referee(record.header, *opened(record), what_happened(record)) == data(name)


@every_record
def test_the_digests_of_a_golden_record_follow_from_its_lines_and_states_alone(name: str) -> None:
    header, *lines, footer = map(json.loads, data(name).splitlines())
    seed, nonces = opened(golden(name))
    assert sha256(b"bot-arena/1/commit", name.encode(), seed).hex() == header["commitment"]
    opening = {key: header[key] for key in ("match", "game", "config", "commitment")}
    opening |= {"seats": [seat["bot"] for seat in header["seats"]], "nonces": footer["nonces"]}
    digest = sha256(b"bot-arena/1/digest", canonical(opening))
    game, key = load_game(header["game"], header["config"]), match_key(name, seed, nonces)
    state, _ = game.initial(Dice(key, 0))
    for line in lines:
        if line["type"] in ("sealed", "strike"):
            continue
        state = after(game, state, line["event"], key)
        salt = hmac.digest(key, b"bot-arena/1/salt" + digest, "sha256") if game.hidden else b""
        digest = sha256(digest, salt, canonical({"event": line["event"], "state": game.encode_state(state)}))
        assert digest.hex() == line["digest"]
    assert digest.hex() == footer["digest"]


def after(game: Game[Any, Any], state: Any, event: dict[str, Any], key: bytes) -> Any:
    if "out" in event:
        return game.remove_seat(state, event["seat"]) if game.seats > 2 else state
    if isinstance(game, SimultaneousGame):
        moves = {seat: game.decode_move(move) for seat, move in enumerate(event["moves"])}
        return game.resolve_round(state, moves, Dice(key, event["ply"]))[0]
    if event["seat"] < 0:
        return state if event["ply"] == 0 else game.apply_chance(state, Dice(key, event["ply"]))[0]
    return game.apply(state, game.decode_move(event["move"]), Dice(key, event["ply"]))[0]


def test_the_golden_records_hold_every_kind_of_event() -> None:
    plies = [(name, line.event) for name in make.GOLDEN for line in golden(name).plies]
    duel = [event.move["do"] for name, event in plies if name.startswith("duel") and event.move]
    assert set(duel) == {"invade", "reinforce", "attack"}
    campaign = [event.move for name, event in plies if name.startswith("campaign") and event.move]
    assert {move.get("do", "deal") for move in campaign} == {"deal", "draft", "attack", "end"}
    assert {event.result["taken"] for _, event in plies if event.result and "taken" in event.result} == {True, False}
    assert {event.seat for _, event in plies} >= {-1, 0, 1}
    dilemma = [event.result or {} for name, event in plies if name.startswith("dilemma")]
    assert {tuple(result) for result in dilemma} == {("payoffs",), ("payoffs", "played"), ()}
    poker = [
        event.move["do"]
        for name, event in plies
        if name.startswith(("kuhn", "leduc")) and event.seat >= 0 and event.move
    ]
    assert set(poker) == {"fold", "check", "call", "bet", "raise"}
    assert {golden(name).footer.reason for name in make.GOLDEN} >= {"win", "ply_limit", "round_limit", "timeout"}


def test_a_seat_that_dropped_out_keeps_its_rank_and_the_others_play_on() -> None:
    for name in ("campaign-drop-out", "campaign-late"):
        record = golden(name)
        (left,) = [line.event for line in record.plies if line.event.out]
        later = [line.event for line in record.plies if line.event.ply > left.ply]
        assert later, "the match goes on"
        assert left.seat not in {event.seat for event in later}
        assert record.footer.ranks[left.seat] > 1
        assert record.footer.reasons[left.seat] == left.out
