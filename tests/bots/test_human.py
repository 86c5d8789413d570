"""A person at a terminal."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from bots.client.bot import GiveUp, Turn
from bots.reference.human import Human, format_turn, read_move
from match_script import Script
from protocol.dice import Dice
from protocol.errors import BotFault
from protocol.games import load_game
from protocol.messages import Event, Player
from turns import turn


def turn_of(game: str, state: dict[str, Any], *events: Event) -> Turn:
    rules = load_game(game)
    players = [Player(bot="me"), Player(bot="perfect")]
    return replace(turn(rules, rules.decode_state(state), events=events), players=players)


@pytest.fixture
def nim() -> Turn:
    event = Event(ply=1, seat=1, move={"heap": 2, "take": 5})
    return turn_of("nim", {"heaps": [1, 0, 2], "ply": 2, "to_move": 0}, event)


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_a_person_sees_the_opponents_move_the_board_and_the_moves(nim: Turn) -> None:
    seen = format_turn(nim)
    assert seen.startswith("m-1: you are seat 0, perfect is seat 1\n")
    assert "perfect: 5 from heap 2" in seen
    assert nim.rules.draw_board(nim.position) in seen
    assert seen.endswith("1) 1 from heap 0  2) 1 from heap 2  3) 2 from heap 2")


def test_a_human_plays_as_a_person() -> None:
    assert Human("me").person


def test_nothing_is_wider_than_a_terminal() -> None:
    seen = format_turn(turn_of("nim", {"heaps": [20, 20, 20], "ply": 0, "to_move": 0}))
    assert max(map(len, seen.splitlines())) <= 80
    assert seen.endswith("and 30 more")


def test_a_move_is_given_by_number_notation_or_json(nim: Turn) -> None:
    move = {"heap": 2, "take": 2}
    for text in ("3", "2 from heap 2", " 2  FROM heap 2 ", "2 2", '{"heap": 2, "take": 2}'):
        assert read_move(nim, text) == move


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("4", "write it like 2 from heap 1, or 2 1"),
        ("two", "write it like 2 from heap 1, or 2 1"),
        ("[1]", "write it like 2 from heap 1, or 2 1"),
        ("3 from heap 2", "heap 2 holds 2"),
        ('{"heap": 1, "take": 1}', "heap 1 holds 0"),
        ('{"heap": 1}', "a move looks like"),
        ('{"heap"', "is not JSON"),
    ],
)
def test_what_is_no_move_is_refused_before_it_costs_a_strike(nim: Turn, text: str, says: str) -> None:
    with pytest.raises(BotFault, match=re.escape(says)):
        read_move(nim, text)


def test_moves_that_differ_in_capitals_alone_are_told_apart(nim: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {0: "Bxc4", 2: "bxc4"}
    turn = replace(nim, legal=[{"heap": 0, "take": 1}, {"heap": 2, "take": 1}])
    monkeypatch.setattr("bots.client.turn_text.format_move", lambda rules, move: names[move["heap"]])
    assert [read_move(turn, text)["heap"] for text in ("Bxc4", "bxc4")] == [0, 2]
    with pytest.raises(BotFault, match="write it like"):
        read_move(turn, "BXC4")


def test_where_moves_are_numbers_themselves_they_are_typed_as_they_are() -> None:
    grid = turn_of("tictactoe", {"cells": [1, 2, 0, 0, 0, 0, 0, 0, 0], "ply": 2, "to_move": 0})
    assert read_move(grid, "2") == {"cell": 2}
    with pytest.raises(BotFault, match="cell 1 holds"):
        read_move(grid, "1")
    assert format_turn(grid).endswith("2  3  4  5  6  7  8")


def test_moves_beyond_the_list_are_given_as_they_are_written() -> None:
    turn = turn_of("nim", {"heaps": [600], "ply": 0, "to_move": 0})
    assert format_turn(turn).endswith("and others, like 2 from heap 1, or 2 1")
    assert read_move(turn, "600 from heap 0") == {"heap": 0, "take": 600}
    assert read_move(turn, '{"heap": 0, "take": 600}') == {"heap": 0, "take": 600}


@pytest.fixture
def campaign() -> Turn:
    rules = load_game("risk-campaign")
    state = rules.initial(Dice(bytes(32), 0))[0]
    return turn_of("risk-campaign", dict(rules.encode_state(state)))


def after(turn: Turn, text: str) -> Turn:
    """The turn that follows, the move that was typed having been made."""
    move = turn.rules.decode_move(read_move(turn, text))
    state, event = turn.rules.apply(turn.position, move, Dice(bytes(32), turn.ply))
    return turn_of("risk-campaign", dict(turn.rules.encode_state(state)), event)


def test_a_draft_is_typed_as_it_is_printed_with_names_or_numbers(campaign: Turn) -> None:
    rules = campaign.rules
    own = [at for at, seat in enumerate(campaign.position.owner) if seat == 0][:2]
    a, b = (rules.map.territories[at].name for at in own)
    move = {"do": "draft", "units": [[own[0], 10], [own[1], 6]]}
    for text in (f"draft {a}+10 {b}+6", f"DRAFT {a.upper()} 10  {b} 6", f"draft {own[1]} 6 {own[0]} 10"):
        assert read_move(campaign, text) == move
    with pytest.raises(BotFault, match="exactly 16"):
        read_move(campaign, f"draft {a} 3")


def test_after_ones_own_move_only_what_changed_is_shown(campaign: Turn) -> None:
    rules = campaign.rules
    owner = campaign.position.owner
    at, to = next((a, b) for a, b in rules.map.borders if (owner[a], owner[b]) == (0, 1))
    drafted = after(campaign, f"draft {at} 16")
    seen = format_turn(drafted, campaign)
    assert seen.splitlines()[0] == f"{rules.map.label(at)}: A 17"
    assert "A 18 territories with 34, B 18 with 18; you draft 18 a round" in seen
    name = [place.name for place in rules.map.territories]
    fought = after(drafted, f"{name[at]} > {name[to]} 9")
    first, second, *_ = format_turn(fought, drafted).splitlines()
    assert first.startswith(f"you: {name[at]} > {name[to]} 9: ")
    assert first.endswith("left")
    assert rules.map.label(to) in second
    assert rules.draw_board(fought.position) not in format_turn(fought, drafted)


@pytest.mark.parametrize("text", ["", "?", "help"])
def test_who_asks_is_told_what_can_be_typed(
    text: str, nim: Turn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, f"{text}\n2\n")
    Human("me").choose(nim)
    told = " ".join(capsys.readouterr().out.split())
    assert 'a move like 2 from heap 1, or 2 1, or JSON like {"heap": 0, "take": 1}' in told
    assert told.count("Ctrl-D resigns") == 2


def test_board_and_moves_are_shown_again_on_demand(nim: Turn, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    typed(monkeypatch, "Board\nmoves\n2\n")
    Human("me").choose(nim)
    told = capsys.readouterr().out
    assert told.count(nim.rules.draw_board(nim.position)) == 2
    assert told.count("1) 1 from heap 0") == 2


def test_a_person_is_asked_until_there_is_a_move(nim: Turn, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    typed(monkeypatch, "what?\n2\n")
    assert Human("me").choose(nim) == {"heap": 2, "take": 1}
    told = capsys.readouterr().out
    assert "'what?' is not a move here" in told
    assert told.endswith(":\n"), "nothing that comes meanwhile is glued to the prompt"


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
    human.ended(structs.replace(Script().end(), state=state))
    assert capsys.readouterr().out == nim.rules.draw_board(nim.rules.decode_state(state)) + "\n"
