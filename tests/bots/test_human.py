"""A person at a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest

from bots.client.bot import GiveUp, Turn, seeded
from bots.reference.human import Human, before, read_move
from protocol.dice import Dice
from protocol.games import load
from protocol.messages import End, Event, Player


def turn_of(game: str, state: dict[str, Any], **fields: Any) -> Turn:
    rules = load(game)
    position = rules.decode_state(state)
    legal, options = rules.offer(position)
    given: dict[str, Any] = {"legal": legal, "options": options, "events": [], **fields}
    return Turn(
        match="m-1",
        seat=0,
        ply=state["ply"],
        state=state,
        players=[Player(bot="me"), Player(bot="perfect")],
        clock_ms=[60000, 60000],
        increment_ms=0,
        rules=rules,
        position=position,
        random=seeded("", "m-1", 0),
        **given,
    )


@pytest.fixture
def nim() -> Turn:
    event = Event(ply=1, seat=1, move={"heap": 2, "take": 5})
    return turn_of("nim", {"heaps": [1, 0, 2], "ply": 2, "to_move": 0}, events=[event])


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_a_person_sees_the_opponents_move_the_board_and_the_moves(nim: Turn) -> None:
    seen = before(nim)
    assert seen.startswith("m-1 against perfect: ply 2, you are seat 0, ")
    assert "perfect: 5 from heap 2" in seen
    assert nim.rules.board(nim.position) in seen
    assert seen.endswith("1) 1 from heap 0  2) 1 from heap 2  3) 2 from heap 2")


def test_nothing_is_wider_than_a_terminal() -> None:
    seen = before(turn_of("nim", {"heaps": [20, 20, 20], "ply": 0, "to_move": 0}))
    assert max(map(len, seen.splitlines())) <= 80
    assert seen.endswith("and 30 more")


def test_a_move_is_given_by_number_notation_or_json(nim: Turn) -> None:
    move = {"heap": 2, "take": 2}
    assert read_move(nim, "3") == read_move(nim, "2 from heap 2") == read_move(nim, '{"heap": 2, "take": 2}') == move


@pytest.mark.parametrize("text", ["", "0", "4", "two", "[1]", '{"heap": 1, "take": 1}'])
def test_what_means_no_move_is_asked_again(nim: Turn, text: str) -> None:
    assert read_move(nim, text) is None


def test_where_moves_are_numbers_themselves_they_are_typed_as_they_are() -> None:
    grid = turn_of("tictactoe", {"cells": [1, 2, 0, 0, 0, 0, 0, 0, 0], "ply": 2, "to_move": 0})
    assert read_move(grid, "2") == {"cell": 2}
    assert read_move(grid, "1") is None
    assert before(grid).endswith("2  3  4  5  6  7  8")


def test_moves_beyond_the_list_are_given_as_json() -> None:
    turn = turn_of("nim", {"heaps": [600], "ply": 0, "to_move": 0})
    assert before(turn).endswith('and others, as JSON like {"heap": 0, "take": 1}')
    assert read_move(turn, '{"heap": 0, "take": 600}') == {"heap": 0, "take": 600}


def test_a_draft_shows_the_json_that_it_takes_however_long() -> None:
    rules = load("risk-campaign")
    state = rules.initial(Dice(bytes(32), 0))[0]
    turn = turn_of("risk-campaign", dict(rules.encode_state(state)))
    seen = before(turn)
    example = " ".join(seen[seen.rindex("JSON like ") + len("JSON like ") :].split())
    assert max(map(len, seen.splitlines()[-3:])) <= 80
    assert read_move(turn, example) == turn.legal[0]


@pytest.mark.parametrize("text", ["", "?", "help"])
def test_who_asks_is_told_what_can_be_typed(
    text: str, nim: Turn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, f"{text}\n2\n")
    Human("me").choose(nim)
    told = capsys.readouterr().out
    assert 'one from the list, or JSON like {"heap": 0, "take": 1}' in told
    assert told.count("Ctrl-D resigns") == 2


def test_a_person_is_asked_until_there_is_a_move(nim: Turn, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    typed(monkeypatch, "what?\n2\n")
    assert Human("me").choose(nim) == {"heap": 2, "take": 1}
    assert "'what?' is no move here" in capsys.readouterr().out


def test_the_end_of_the_input_gives_the_match_up(nim: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "")
    with pytest.raises(GiveUp):
        Human("me").choose(nim)


def test_the_last_board_is_shown(nim: Turn, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    human = Human("me")
    typed(monkeypatch, "1\n")
    human.choose(nim)
    capsys.readouterr()
    state = {"heaps": [0, 0, 0], "ply": 4, "to_move": None}
    human.ended(
        End(
            match="m-1",
            ply=4,
            events=[],
            state=state,
            digest="",
            ranks=[2, 1],
            reason="win",
            seats=[],
            nonces=[],
            record="",
        )
    )
    assert capsys.readouterr().out == nim.rules.board(nim.rules.decode_state(state)) + "\n"
