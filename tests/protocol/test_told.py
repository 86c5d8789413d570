"""What a replay says of dice and their result, beside the move."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.dice import Dice
from protocol.games import load_game
from protocol.messages import Event


@pytest.mark.parametrize(
    ("game", "dice", "result", "says"),
    [
        ("nim", None, None, ""),
        ("risk-duel", [[6], [3]], {"taken": True}, "6-3 taken"),
        ("risk-duel", [[3], [3]], {"taken": False}, "3-3 held"),
        ("risk-duel", None, None, ""),
        (
            "risk-campaign",
            [[6, 2, 1], [3, 2]],
            {"taken": False, "attackers": 0, "defenders": 2},
            "6,2,1-3,2 held, 2 left",
        ),
        (
            "risk-campaign",
            [[1], [3]] * 5,
            {"taken": True, "attackers": 3, "defenders": 0},
            "5 rounds, taken, 3 left",
        ),
        (
            "risk-campaign",
            [[6, 5, 4], [3, 2]] * 500,
            {"taken": True, "attackers": 9, "defenders": 0},
            "500+ rounds, taken, 9 left",
        ),
        ("risk-campaign", None, {"taken": True, "attackers": 3, "defenders": 0}, "taken, 3 left"),
    ],
)
def test_a_replay_says_in_a_few_words_what_the_dice_made_of_a_move(
    game: str, dice: Any, result: Any, says: str
) -> None:
    assert load_game(game).describe_event(Event(ply=0, seat=0, move={}, dice=dice, result=result)) == says


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "deals 36 territories to 2 seats"),
        ({"map": "world", "players": 6}, "deals 42 territories to 6 seats"),
        ({"map": "world", "players": 5}, "deals 42 territories to 5 seats"),
        ({"map": "grid-10x10", "players": 6}, "deals 100 territories to 6 seats"),
    ],
)
def test_a_replay_says_in_a_few_words_what_was_dealt(config: dict[str, Any], says: str) -> None:
    game = load_game("risk-campaign", config)
    _, deal = game.initial(Dice(b"k", 0))
    assert deal is not None
    assert game.describe_event(deal) == says
