"""Moves as people write them, and what they are told of a board: its changes, and who has what."""

from __future__ import annotations

from typing import Any

import pytest

from games.nim.rules import Take
from games.risk.rules.campaign import MAX_LISTED_CHANGES
from games.risk.rules.campaign_moves import Attack, Draft, EndTurn
from games.risk.rules.duel import Action
from protocol.dice import Dice
from protocol.errors import MalformedMove
from protocol.games import load_game


@pytest.mark.parametrize(
    ("game", "text", "move"),
    [
        ("nim", "2 from heap 1", Take(1, 2)),
        ("risk-duel", "Peru > Brazil", Action("attack", 2, 1)),
        ("risk-duel", " 1>2 ", Action("attack", 2, 1)),
        ("risk-duel", "Invade Peru", Action("invade", 1)),
        ("risk-duel", "reinforce 0", Action("reinforce", 0)),
        ("risk-campaign", "b2 > a2 2", Attack(6, 7, 2)),
        ("risk-campaign", "Draft a1 3 b2 1", Draft(((0, 3), (7, 1)))),
        ("risk-campaign", " END ", EndTurn()),
    ],
)
def test_a_move_is_read_by_names_or_numbers_in_either_case(game: str, text: str, move: Any) -> None:
    assert load_game(game).parse_move(text) == move


@pytest.mark.parametrize(
    ("game", "text", "says"),
    [
        ("nim", "two of them", "'two of them'"),
        ("risk-duel", "take Peru", "'take Peru' is not a move here: write it like "),
        ("risk-campaign", "a1 > b2 1 c3 1", "'a1 > b2 1 c3 1' attacks 2 territories: attack one, as in draft a1 3"),
        ("risk-campaign", "stop", "'stop' is not a move here: write it like draft a1 3"),
    ],
)
def test_what_is_no_move_is_told_how_one_is_written(game: str, text: str, says: str) -> None:
    with pytest.raises(MalformedMove) as refused:
        load_game(game).parse_move(text)
    assert says in str(refused.value)


def test_a_few_changes_of_a_board_are_told_one_by_one_and_many_by_the_board() -> None:
    duel = load_game("risk-duel")
    before = duel.initial(Dice(bytes(32), 0))[0]
    after = duel.apply(before, duel.parse_move("invade Venezuela"), Dice(bytes(32), 0))[0]
    assert duel.describe_changes(before, after) == "0 (Venezuela): A 3"
    campaign = load_game("risk-campaign")
    start = campaign.initial(Dice(bytes(32), 0))[0]
    few, many = (
        start._replace(troops=tuple(9 if at < count else n for at, n in enumerate(start.troops)))
        for count in (MAX_LISTED_CHANGES, MAX_LISTED_CHANGES + 1)
    )
    assert len(campaign.describe_changes(start, few).split("; ")) == MAX_LISTED_CHANGES
    assert campaign.describe_changes(start, many) == campaign.draw_board(many)


def test_who_has_what_is_told_in_a_line() -> None:
    campaign, duel = load_game("risk-campaign"), load_game("risk-duel")
    start = campaign.initial(Dice(bytes(32), 0))[0]
    assert campaign.summarise(start) == "A 18 territories with 18, B 18 with 18; you draft 18 a round"
    begun = duel.initial(Dice(bytes(32), 0))[0]
    assert duel.summarise(begun) == ""
    assert (
        duel.summarise(duel.apply(begun, duel.parse_move("invade Peru"), Dice(bytes(32), 0))[0])
        == "A 1 territory with 3"
    )
