"""What luck gave, in what `arena replay` says of a match: by the move and in all, under the name of its value."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arena.replay.luck_report import format_signed, luck_by_move, record_luck, summarise_luck
from arena.replay.match_document import make_document
from commands import call
from golden import make
from machine.compiled import HAS_NUMBA
from measuring.luck import ChanceEvent, Luck
from referee import record_reader
from referee.effects import MoveReceived
from referee.record import Record
from referee.state import Phase
from referee_table import Table

needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
DICED = {"rounds": 9, "noise": "0.3", "go_on": "0.9"}
DUEL, NO_DICE, THREE_SEATS = "duel-south-america", "campaign-deterministic", "campaign-drop-out"


def file_of(name: str) -> str:
    return str(make.HERE / f"{name}.jsonl")


def golden(name: str) -> Record:
    return record_reader.read_record(make.HERE.joinpath(f"{name}.jsonl").read_bytes(), name)


def played(game: str, config: dict[str, Any]) -> bytes:
    """The record of a match in which everybody takes what is listed first."""
    table = Table(game, config).begin()
    while table.match.standing.phase is Phase.PLAYING:
        course = table.match.standing.current_course
        for seat in course.awaited_seats:
            table.send(MoveReceived(seat, table.ply, course.legal_moves(seat)[0][0]))
    return table.packed()


def replayed(*words: str) -> str:
    code, out, err = call("arena", "replay", *words)
    assert (code, err) == (0, "")
    return out


show = partial(replayed, "show")


def test_every_move_that_threw_dice_says_what_they_gave_its_bot_and_the_last_line_what_they_gave_in_all() -> None:
    lines = show(file_of(DUEL), "--value", "features-1").splitlines()
    assert max(map(len, lines)) <= 80
    head = next(line for line in lines if line.startswith("ply"))
    end = head.index("luck") + len("luck")
    rows = [line for line in lines if line[:3].strip().isdigit() and len(line) > end and ":" not in line[:3]]
    told = {int(line[:3]): line[end - 6 : end].strip() for line in rows if line[end - 6 : end].strip()}
    luck = record_luck(golden(DUEL), "features-1")
    assert luck is not None
    assert told == {ply: format_signed(given) for (ply, _), given in luck_by_move(luck).items()}
    assert lines[-1] == summarise_luck(luck, ["ann", "bob"])


def test_with_more_than_two_seats_it_is_called_an_estimate() -> None:
    out = show(file_of(THREE_SEATS))
    assert " est. luck " in out
    assert out.splitlines()[-1].startswith("luck gave ann +")
    assert out.splitlines()[-1].endswith(" points, estimated by features-1")


@pytest.mark.parametrize("name", [NO_DICE, "nim-classic"])
def test_where_nothing_is_thrown_nothing_is_said_of_luck(name: str) -> None:
    assert "luck" not in show(file_of(name))
    assert "luck" not in show(file_of(name), "--json")


def test_who_wants_no_luck_told_names_the_value_none() -> None:
    assert "luck" not in show(file_of(DUEL), "--value", "none")


def test_boards_say_it_where_they_tell_the_move() -> None:
    told = [line for line in show(file_of(DUEL), "--boards", "--value", "features-1").splitlines() if ", luck " in line]
    assert [line.partition(", luck ")[2].split(",")[0] for line in told] == [
        format_signed(given) for given in luck_by_move(record_luck(golden(DUEL), "features-1")).values()
    ]


def test_a_seat_that_leaves_at_the_ply_of_a_battle_has_no_part_in_its_dice() -> None:
    (left,) = (line for line in show(file_of(THREE_SEATS)).splitlines() if "out: resigned" in line)
    assert "+" not in left
    assert "-" not in left


def test_the_document_has_the_luck_of_every_event_which_comes_to_its_total() -> None:
    luck = json.loads(show(file_of(DUEL), "--json", "--value", "features-1"))["luck"]
    assert (luck["value"], luck["estimate"]) == ("features-1", False)
    for seat in (0, 1):
        assert luck["total"][seat] == pytest.approx(sum(event["luck"][seat] for event in luck["events"]))
    assert sum(luck["total"]) == pytest.approx(0)
    assert luck["total"][0] != 0


def test_an_exported_document_has_it_too(tmp_path: Path) -> None:
    replayed("export", file_of("campaign-dice"), "--to", str(tmp_path / "match.json"))
    assert json.loads((tmp_path / "match.json").read_text()) == json.loads(show(file_of("campaign-dice"), "--json"))


@needs_numba
def test_grades_come_with_the_luck_that_the_same_table_says() -> None:
    told: dict[str, Any] = json.loads(replayed("grade", file_of(DUEL), "--json"))
    assert told["luck"]["value"] == "exact"
    lines = replayed("grade", file_of(DUEL)).splitlines()
    assert lines[0].split()[:5] == ["ply", "bot", "move", "luck", "value"]
    assert lines[-1] == summarise_luck(record_luck(golden(DUEL)), ["ann", "bob"])  # type: ignore[arg-type]


def test_grades_of_a_game_without_chance_say_nothing_of_luck() -> None:
    assert "luck" not in replayed("grade", file_of("nim-classic"))
    assert "luck" not in json.loads(replayed("grade", file_of("nim-classic"), "--json"))


@pytest.mark.parametrize("command", ["show", "grade"])
def test_a_value_that_is_not_there_is_one_line_that_names_those_that_are(command: str) -> None:
    code, out, err = call("arena", "replay", command, file_of("nim-classic"), "--value", "exact")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "nim under this config has no value function 'exact'" in err


def test_a_record_that_is_wrong_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    text = make.HERE.joinpath(f"{DUEL}.jsonl").read_text()
    forged = tmp_path / "forged.jsonl"
    forged.write_text(text.replace('"taken":true', '"taken":false', 1))
    code, out, err = call("arena", "replay", "show", str(forged), "--boards")
    assert code == 1
    assert "0  ann: invade Peru" in out
    assert "should be" in err
    assert make_document(record_reader.read_record(forged.read_bytes(), "forged")).fault is not None


def test_a_match_in_which_no_dice_were_thrown_yet_has_no_sentence() -> None:
    assert "the dice" not in show(file_of("duel-late"), "--value", "features-1")


def test_numbers_have_a_sign_and_nothing_is_less_than_nothing() -> None:
    assert [format_signed(0.4104, 2), format_signed(-0.0001, 2), format_signed(-0.25)] == ["+0.41", "+0.00", "-0.250"]
    luck = Luck(
        value="exact", estimate=False, events=(ChanceEvent(ply=3, seat=1, luck=(0.4, -0.4)),), total=(0.4, -0.4)
    )
    assert luck_by_move(luck) == {(3, 1): -0.4}
    assert luck_by_move(None) == {}
    assert summarise_luck(luck, ["ann", "bob"]) == "luck gave ann +0.40 and bob -0.40 points, by exact"


def test_a_deal_and_a_round_say_what_they_gave_each_seat(tmp_path: Path) -> None:
    for game, config, unit in (
        ("kuhn", {"hands": 2}, "chips, by equilibrium"),
        ("dilemma", DICED, "in payoffs, by mean-1"),
    ):
        record = played(game, config)
        (tmp_path / "m-1.jsonl.gz").write_bytes(record)
        luck = record_luck(record_reader.read_record(record, "m-1"))
        assert luck is not None
        lines = show(str(tmp_path / "m-1.jsonl.gz")).splitlines()
        for event in luck.events:
            told = " ".join(map(format_signed, event.luck))
            assert any(line.split()[0] == str(event.ply) and told in line for line in lines if line.strip()), told
        assert lines[-1].endswith(unit)
