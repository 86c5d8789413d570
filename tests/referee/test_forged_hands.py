"""Records of rounds and hands that lie about what nobody saw while it happened: each is refused, naming its ply."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest

from protocol.digest import make_salt, next_digest
from record_rows import Change, Rows, one_more, plies_of, put, refusal, rows_of
from referee import record_reader
from referee.effects import MoveReceived
from referee.replay import replay
from referee_table import Table


def rounds() -> Table:
    """Six rounds of the dilemma with much noise."""
    table = Table("dilemma", {"rounds": 6, "noise": "0.3"}).begin()
    while not table.finishes:
        for seat in (1, 0):
            table.send(MoveReceived(seat, table.ply, {"choose": (table.ply + seat) % 2}))
    return table


def hands() -> Table:
    table = Table("leduc", {"hands": 3}).begin()
    while not table.finishes:
        table.play(table.last(table.to_move).legal[-1])
    return table


def sealed_of(rows: Rows, ply: int) -> Rows:
    return [row for row in rows if row["type"] == "sealed" and row["ply"] == ply]


def change_a_sealed_move(rows: Rows) -> None:
    move = sealed_of(rows, 2)[0]["move"]
    move["choose"] = 1 - move["choose"]


def change_a_move_everywhere(rows: Rows) -> None:
    """So that line and event agree: what it led to does not, or the digest."""
    sealed = sealed_of(rows, 2)[0]
    sealed["move"]["choose"] = 1 - sealed["move"]["choose"]
    plies_of(rows)[2]["event"]["moves"][sealed["seat"]] = sealed["move"]


def repeat_a_sealed_move(rows: Rows) -> None:
    again = sealed_of(rows, 1)[0]
    rows.insert(rows.index(again), again)


def seal_after_the_round(rows: Rows) -> None:
    late = sealed_of(rows, 1)[1]
    rows.remove(late)
    rows.insert(rows.index(plies_of(rows)[1]) + 1, late)


ROUNDS: dict[str, tuple[Change, str]] = {
    "a sealed move": (change_a_sealed_move, "m-1: ply 2: moves should be "),
    "a move everywhere": (change_a_move_everywhere, "m-1: ply 2: "),
    "a coin of noise": (put("ply 3 event result played 0", lambda choice: 1 - choice), "m-1: ply 3: result should be "),
    "payoffs": (put("ply 4 event result payoffs 0", one_more), "m-1: ply 4: result should be "),
    "a departure": (
        lambda rows: plies_of(rows)[1]["event"].update(out="resigned"),
        "m-1: ply 1: out should be None, the record says resigned",
    ),
    "a move forgotten": (
        lambda rows: rows.remove(sealed_of(rows, 1)[0]),
        "m-1: ply 1: the round is incomplete: seat 1 has not moved",
    ),
    "a move repeated": (repeat_a_sealed_move, "m-1: ply 1: seat 1 moves twice in one round"),
    "a move too late": (seal_after_the_round, "m-1: ply 1: the round is incomplete: seat 0 has not moved"),
}


@pytest.mark.parametrize(("change", "said"), ROUNDS.values(), ids=ROUNDS)
def test_a_round_that_was_otherwise_is_refused_naming_its_ply(change: Change, said: str) -> None:
    rows = rows_of(rounds().packed())
    change(rows)
    assert refusal(rows).startswith(said)


def test_a_hand_exchanged_is_refused_naming_its_ply() -> None:
    rows = rows_of(hands().packed())
    for row in plies_of(rows):
        move = row["event"].get("move") or {}
        for name, card in (("cards", None), ("public", move.get("public"))):
            if name in move:
                changed = json.loads(json.dumps(rows))
                event = changed[rows.index(row)]["event"]
                event["move"][name] = move["cards"][::-1] if card is None else (card + 1) % 6
                assert refusal(changed).startswith(f"m-1: ply {event['ply']}: move should be ")


@pytest.mark.parametrize("table", [rounds, hands])
@pytest.mark.parametrize("forged", ["none", "of the ply before"])
def test_a_digest_without_its_own_salt_is_refused_naming_its_ply(table: Callable[[], Table], forged: str) -> None:
    """With the salt of another ply, or without one, whoever tries all hands out would find what was dealt."""
    packed = table().packed()
    record = record_reader.read_record(packed, "m-1")
    courses = [course for line, course in replay(record) if getattr(line, "digest", None)]
    before, last = courses[-2], courses[-1]
    reused = b"" if forged == "none" else make_salt(last.key, courses[-3].digest)
    event = [line.event for line in record.lines if hasattr(line, "event")][-1]
    assert next_digest(before.digest + make_salt(last.key, before.digest), event, last.encoded_state) == last.digest
    rows = rows_of(packed)
    digest = next_digest(before.digest + reused, event, last.encoded_state).hex()
    plies_of(rows)[-1]["digest"] = rows[-1]["digest"] = digest
    assert refusal(rows).startswith(f"m-1: ply {event.ply}: the digest does not follow")


def test_what_a_seat_was_shown_is_what_the_record_holds_of_it() -> None:
    """With the key, which the seed gives in the end, everyone can check what was hidden from them."""
    table = hands()
    game = table.match.game
    turns = {turn.digest: turn for turn in table.told[0] if hasattr(turn, "events")}
    seen = 0
    for line, course in replay(table.record()):
        if line is not None and (turn := turns.get(line.digest)) is not None and turn is not table.told[0][-1]:
            assert msgspec.to_builtins(turn.state) == msgspec.to_builtins(game.view(course.encoded_state, 0))
            seen += 1
    assert seen > 4
