"""Records of games that do not come with bot-arena: they verify with their rules, with others, and without any."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from arena.replay.match_document import make_document
from arena.replay.verify import OtherRulesDiffer, Verification, verify_record
from example_games import PIG
from measuring.luck import luck_of
from own_game_records import DIGEST, MATCHES, RULES, known, play_on, table_of
from protocol.dice import Dice, commitment
from protocol.digest import first_digest, next_digest, result_digest
from protocol.errors import BadRecord, MissingRules, RulesFault
from protocol.games import game_class
from protocol.games.turn_chance import draw_outcome
from protocol.messages import CHANCE, Event, RulesStamp, Turn
from record_rows import Row, Rows, bytes_of, refusal, rows_of
from referee import match, record_reader
from referee.effects import Abort, Reconnect, Resignation
from referee.match import OversizedStates
from referee.messages import make_end_from_record
from referee.record import Ply, Record, write_line
from referee.replay import replay
from referee_table import Table


def record_of(rows: Rows) -> Record:
    return record_reader.read_record(bytes_of(rows), "m-1")


def verified(rows: Rows) -> Verification:
    return verify_record(record_of(rows))


@pytest.fixture(scope="module")
def records() -> dict[str, Rows]:
    return {name: made() for name, made in MATCHES.items()}


# What is written


def test_the_header_names_the_rules_and_every_event_has_its_state(records: dict[str, Rows]) -> None:
    for rows in records.values():
        assert rows[0]["rules"] == {"version": "1", "digest": DIGEST}
        plies = [row for row in rows if row["type"] == "ply"]
        assert all(row["state"].keys() >= {"to_move", "ply"} for row in plies)
    first = next(row for row in records["pig"] if row["type"] == "ply")
    assert first["state"] | {"scores": 0} == {
        "scores": 0, "seat": 0, "at_risk": 0, "is_rolling": True, "turns": 0, "to_move": -1, "ply": 1,
    }  # fmt: skip


def test_a_game_that_comes_with_the_arena_has_neither() -> None:
    rows = rows_of(Table("nim", {"preset": "classic"}).begin().finish_at_random().packed())
    assert "rules" not in rows[0]
    assert not any("state" in row for row in rows)


def test_start_names_the_rules_that_the_first_digest_binds(records: dict[str, Rows]) -> None:
    with known("pig"):
        table = table_of("pig")
        table.open()
        assert table.last(0).rules == RulesStamp("1", DIGEST)
    rows = records["pig"]
    header, footer = rows[0], rows[-1]
    nonces = [bytes.fromhex(nonce) for nonce in footer["nonces"]]
    seats, promised = ["ann", "bob"], bytes.fromhex(header["commitment"])
    stamp = RulesStamp("1", DIGEST)
    digest = first_digest("m-1", "pig", header["config"], seats, promised, nonces, stamp)
    ply = next(row for row in rows if row["type"] == "ply")
    event = Event(ply=0, seat=0, move={"move": "roll"}, strikes=[0])
    assert next_digest(digest, event, ply["state"]).hex() == ply["digest"]


def test_the_last_digest_binds_the_result(records: dict[str, Rows]) -> None:
    *_, last, footer = records["onecard"]
    paid = [(round(mean * rounds), rounds) for mean, rounds in zip(footer["payoffs"], footer["rounds"], strict=True)]
    bound = result_digest(bytes.fromhex(last["digest"]), footer["ranks"], footer["reason"], footer["reasons"], paid)
    assert bound.hex() == footer["digest"]


@pytest.mark.parametrize("name", ["pig", "bids", "onecard"])
def test_a_match_goes_on_from_its_journal_and_its_record_is_the_same(name: str) -> None:
    with known(name):
        whole = play_on(table_of(name).begin())
        lines = [line for line in whole.lines if type(line).__name__ != "Void"]
        for kept in range(3, len(lines), max(1, len(lines) // 8)):
            cut = table_of(name)
            cut.resume(lines[:kept])
            for seat in cut.seats:
                cut.send(Reconnect(seat))
            if not cut.match.standing.course:
                cut.begin(whole.match.standing.nonces_by_seat)
            rows = rows_of(play_on(cut).packed())
            assert [row.get("digest") for row in rows] == [row.get("digest") for row in rows_of(whole.packed())]
            assert verified(rows) == Verification()


@pytest.mark.parametrize(
    ("limit", "said"), [("MAX_STATE_BYTES", "the state of pig at ply"), ("MAX_STATES_BYTES", "the")]
)
def test_states_for_which_a_record_has_no_room_are_refused_in_a_line(
    monkeypatch: pytest.MonkeyPatch, limit: str, said: str
) -> None:
    monkeypatch.setattr(match, limit, 90)
    with known("pig"):
        table = table_of("pig").begin()
        with pytest.raises(OversizedStates, match=f"m-1: {said}") as fault:
            play_on(table)
        assert "\n" not in str(fault.value)
        table.send(Abort(undo_last_event=True))
        assert verify_record(table.record()) == Verification()


def test_nobody_is_told_before_the_end_what_the_recorded_states_reveal() -> None:
    with known("onecard"):
        table = table_of("onecard")
        table.match.set_watched(is_watched=True)
        table.begin()
        table.play({"move": "check"})
        table.play({"move": "bet"})
        states = [line.state for line in table.lines if isinstance(line, Ply)]
        cards = states[0] and states[0]["cards"]
        assert None not in cards
        for seat, told in enumerate([*table.told, table.shown]):
            seen = [card if at == seat else None for at, card in enumerate(cards)]
            turns = [message for message in told if isinstance(message, Turn)]
            assert turns
            assert {tuple(turn.state["cards"]) for turn in turns} == {tuple(seen)}
            assert not any(str(list(cards)) in str(message) for message in told)
            assert {event.move["outcome"] for turn in turns for event in turn.events if event.seat == CHANCE} == {None}
        play_on(table)
        assert table.match.end_message(0).state["cards"] == cards


# With the rules


@pytest.mark.parametrize("name", MATCHES)
def test_with_its_rules_it_is_refereed(records: dict[str, Rows], name: str) -> None:
    with known(name):
        assert verified(records[name]) == Verification()
        changed = copy.deepcopy(records[name])
        changed[1]["state" if "state" in changed[1] else "seat"] = {"to_move": 0, "ply": 1}
        refusal(changed)


def test_with_its_rules_a_changed_state_is_found(records: dict[str, Rows]) -> None:
    changed = copy.deepcopy(records["pig"])
    changed[-2]["state"]["turns"] += 1
    with known("pig"):
        assert "the record has another state than the rules give" in refusal(changed)


@pytest.mark.parametrize("name", MATCHES)
def test_other_rules_that_agree_are_named(records: dict[str, Rows], name: str) -> None:
    with known(name, version="2", digest="cd" * 32):
        assert verified(records[name]) == Verification(
            other_rules="by other rules (version 2, digest cdcdcdcdcdcd) than it was made with "
            "(version 1, digest abababababab)"
        )


class LongPig(PIG):  # type: ignore[valid-type, misc]
    name = "pig"

    def pass_turn(self, state: Any, points: int) -> Any:
        return super().pass_turn(state, points)._replace(turns=state.turns + 2)


def test_other_rules_that_differ_are_named_with_the_ply(
    records: dict[str, Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RULES, "pig", f"{__name__}:LongPig.rules")
    with known("pig", version="2", digest="cd" * 32), pytest.raises(OtherRulesDiffer) as caught:
        verified(records["pig"])
    said = str(caught.value)
    assert said.startswith("m-1: ply ")
    assert said.endswith(
        "; it was refereed by other rules (version 2, digest cdcdcdcdcdcd) than it was made with "
        "(version 1, digest abababababab)"
    )


# Without the rules

CHECKED_PARTS = {
    "pig": ", {draws} draws, the ratings",
    "onecard": ", 1 draw",
    "twentyone": ", {draws} draws, the ratings",
    "bids": ", but not the dice of 3 events",
}


@pytest.mark.parametrize("name", MATCHES)
def test_without_the_rules_a_line_says_what_was_checked_and_that_no_move_was_refereed(
    records: dict[str, Rows], name: str
) -> None:
    events = [row["event"] for row in records[name] if row["type"] == "ply"]
    said = verified(records[name])
    assert said.other_rules == ""
    assert said.missing_rules == (
        f"no move was refereed: the rules of {name} (version 1, digest abababababab) are not here"
    )
    draws = sum(event["seat"] == -1 for event in events)
    parts = CHECKED_PARTS[name].format(draws=draws)
    assert said.checked == f"the seed, {len(events)} digests, whose turn it was{parts}"


def test_a_rated_record_whose_rules_have_the_version_of_a_library_is_right_without_them() -> None:
    with known("onecard", version="library 1.2"):
        rows = rows_of(play_on(table_of("onecard", rated=True).begin()).packed())
    assert verified(rows).missing_rules == (
        "no move was refereed: the rules of onecard (version library 1.2, digest abababababab) are not here"
    )
    with known("onecard", version="library 1.3", digest="cd" * 32):
        assert "version library 1.3" in verified(rows).other_rules


def test_matches_that_were_called_off_are_checked_too() -> None:
    with known("pig"):
        early, late, struck = table_of("pig", rated=True), table_of("pig").begin(), table_of("pig").begin()
        early.open()
        late.play({"move": "roll"})
        struck.play({"move": "hold"})
        for table in (early, late, struck):
            table.send(Abort())
        made = [rows_of(table.packed()) for table in (early, late, struck)]
    assert [bool(verified(rows).missing_rules) for rows in made] == [True, True, True]
    made[2][1]["seat"] = 1
    assert "digest" in refusal(made[2])


@pytest.mark.parametrize("leaving", [0, 1])
def test_a_seat_that_leaves_before_its_first_move_is_checked_too(leaving: int) -> None:
    for name in ("pig", "onecard", "twentyone", "bids"):
        with known(name):
            table = table_of(name).begin()
            table.send(Resignation(leaving))
            rows = rows_of(play_on(table).packed())
        assert verified(rows).missing_rules, name
        rows[-1]["ranks"] = rows[-1]["ranks"][::-1]
        assert "should be" in refusal(rows), name


def test_a_record_without_states_needs_the_rules(records: dict[str, Rows]) -> None:
    rows = copy.deepcopy(records["pig"])
    del rows[0]["rules"]
    with pytest.raises(MissingRules, match="this arena does not have the rules of pig"):
        verified(rows)


UNBOUND = {
    ("header",): {"version", "clock", "away_ms", "started", "tournament", "place"},
    ("header", "seats"): {"version"},
    ("ply",): {"clock", "info", "given"},
    ("sealed",): {"clock", "info", "given"},
    ("strike",): {"code", "message"},
    ("footer",): {"finished"},
}
"""The fields that no digest covers, by where they are; docs/records.md names them."""


def leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in below:
        yield from leaves(inner, (*path, key))
    if not isinstance(value, (dict, list)) or not value:
        yield path


def is_bound(line: str, path: tuple[Any, ...]) -> bool:
    names = [part for part in path if isinstance(part, str)]
    return not any(names[depth] in UNBOUND.get((line, *names[:depth]), ()) for depth in range(len(names)))


def changed_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return ("b" if value[:1] != "b" else "c") + value[1:]
    return 1 if value is None else [1] if isinstance(value, list) else {"more": 1}


@pytest.mark.parametrize("name", MATCHES)
def test_whatever_is_changed_in_a_record_is_found_without_the_rules(records: dict[str, Rows], name: str) -> None:
    rows = records[name]
    picked = [0, *range(1, min(5, len(rows) - 3)), len(rows) // 2, len(rows) - 2, len(rows) - 1]
    tried = set()
    missed = []
    for number in dict.fromkeys(picked):
        for path in leaves(rows[number], ()):
            if path in (("type",), ("format",)) or not is_bound(rows[number]["type"], path):
                continue
            changed = copy.deepcopy(rows)
            inner: Any = changed[number]
            for part in path[:-1]:
                inner = inner[part]
            inner[path[-1]] = changed_value(inner[path[-1]])
            tried.add((rows[number]["type"], *[part for part in path if isinstance(part, str)]))
            try:
                verified(changed)
            except BadRecord:
                continue
            missed.append((rows[number]["type"], path))
    assert missed == []
    assert tried >= {("header", "rules", "digest"), ("ply", "event", "ply"), ("ply", "state", "to_move")}
    assert tried >= {("footer", field) for field in ("ranks", "reason", "reasons", "plies", "seed", "nonces", "digest")}
    if rows[-1].get("ratings"):
        assert ("footer", "ratings", "seats", "mu_after") in tried


@pytest.mark.parametrize("name", MATCHES)
def test_a_line_that_is_dropped_or_moved_is_found_without_the_rules(records: dict[str, Rows], name: str) -> None:
    rows = records[name]
    for at in range(1, min(len(rows) - 1, 30)):
        refusal([*rows[:at], *rows[at + 1 :]])
        if at + 2 < len(rows):
            swapped = [*rows[:at], rows[at + 1], rows[at], *rows[at + 2 :]]
            if {"sealed", "strike"} >= {rows[at]["type"], rows[at + 1]["type"]}:
                continue  # the order of sealed moves is nobody's
            refusal(swapped)


def forge(rows: Rows) -> Rows:
    """Return the record after somebody who knows the seed has made all digests follow."""
    head, *lines, footer = rows
    seed, nonces = bytes.fromhex(footer["seed"]), [bytes.fromhex(nonce) for nonce in footer["nonces"]]
    head["commitment"] = commitment(head["match"], seed).hex()
    seats = [seat["bot"] for seat in head["seats"]]
    stamp = RulesStamp(**head["rules"])
    promised = bytes.fromhex(head["commitment"])
    digest = first_digest(head["match"], head["game"], head["config"], seats, promised, nonces, stamp)
    for line in lines:
        if line["type"] == "ply":
            digest = next_digest(digest, line["event"], line["state"])
            line["digest"] = digest.hex()
    footer["digest"] = result_digest(digest, footer["ranks"], footer["reason"], footer["reasons"], None).hex()
    return rows


def test_a_forger_who_makes_the_digests_follow_still_needs_the_dice_and_the_turns(records: dict[str, Rows]) -> None:
    rows = copy.deepcopy(records["pig"])
    assert verified(forge(rows)).missing_rules
    drawn = next(row for row in rows if row["type"] == "ply" and row["event"]["seat"] == -1)
    drawn["event"]["move"]["outcome"] = 5 - drawn["event"]["move"]["outcome"]
    assert "move should be {'outcome': " in refusal(forge(rows))
    rows = copy.deepcopy(records["pig"])
    moved = [row for row in rows if row["type"] == "ply" and row["event"]["seat"] >= 0][3]
    moved["event"]["seat"] = 1 - moved["event"]["seat"]
    assert "moves, but seat" in refusal(forge(rows))
    rows = copy.deepcopy(records["pig"])
    rows[-1]["ranks"] = rows[-1]["ranks"][::-1]
    assert "mu_after should be" in refusal(forge(rows))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (None, "the record has no state after this event"),
        ({"to_move": 0}, "the state after this event should have ply "),
        ({"to_move": 2}, "does not say whose turn it is"),
        ({"to_move": []}, "does not say whose turn it is"),
        ({"to_move": "ann"}, "does not say whose turn it is"),
        ({"to_move": [0, -1]}, "does not say whose turn it is"),
    ],
)
def test_a_state_that_is_none_is_refused_in_a_line(records: dict[str, Rows], state: Row | None, said: str) -> None:
    rows = copy.deepcopy(records["pig"])
    line = next(row for row in rows[5:] if row["type"] == "ply")
    line["state"] = None if state is None else {**line["state"], **({"ply": "x"} if "ply" in said else {}), **state}
    assert said in refusal(rows)


@pytest.mark.parametrize(
    "among", [0, -1, True, 65537, "6", [], [0, 1], [1, "2"], [65536, 1], None], ids=lambda among: repr(among)
)
def test_a_draw_in_an_unknown_form_is_not_checked(among: Any) -> None:
    assert draw_outcome(Dice(b"", 0), {"outcome": 0, "of": among}) is None


# What is shown without the rules


def test_a_replay_has_the_recorded_states_and_moves(records: dict[str, Rows]) -> None:
    record = record_of(records["onecard"])
    *_, (line, course) = replay(record, by_states=True)
    assert course.game.draw_board(course.state).splitlines()[-1] == "is_dealt: true"
    assert course.game.notation(course.game.decode_move(line.event.move)) == "call"  # type: ignore[union-attr]
    with pytest.raises(MissingRules):
        next(replay(record))


def test_the_document_of_a_match_has_the_recorded_states(records: dict[str, Rows]) -> None:
    for rows in records.values():
        document = make_document(record_of(rows))
        assert document.fault is not None
        assert document.fault.startswith("m-1: this arena does not have the rules of ")
        states = [row["state"] for row in rows if row["type"] == "ply"]
        assert [ply.state for ply in document.plies] == states
        assert (document.start, len(document.strikes)) == ({}, sum(row["type"] == "strike" for row in rows))


def test_watchers_are_told_the_end_from_the_record(records: dict[str, Rows]) -> None:
    end = make_end_from_record(record_of(records["pig"]))
    assert (end.state, end.digest) == (records["pig"][-2]["state"], records["pig"][-1]["digest"])


def test_lines_of_the_journal_are_those_of_the_record(records: dict[str, Rows]) -> None:
    record = record_of(records["pig"])
    assert [json.loads(write_line(line)) for line in record.lines] == records["pig"][1:-1]


def test_rules_that_fail_at_the_estimate_of_luck_are_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with known("pig"):
        record = play_on(table_of("pig").begin()).record()
        rules: Any = game_class("pig")
        chances = rules.rules_class.chances

        def with_lists(self: Any, state: Any) -> list[Any]:
            return [(weight, after._replace(scores=list(after.scores))) for weight, after in chances(self, state)]

        monkeypatch.setattr(rules.rules_class, "chances", with_lists)
        with pytest.raises(RulesFault, match=r"the rules of pig failed: .*unhashable type"):
            luck_of(record)
