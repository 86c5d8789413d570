"""Bounded Risk as it is told: the events of actions without dice, how much advice a refusal gives, the board."""

from __future__ import annotations

import pytest

from games.risk.rules.duel import NO_OWNER, Action, Duel, Position
from games.risk.rules.text import draw_map
from protocol.errors import IllegalMove
from protocol.games.base import NO_DICE
from protocol.messages import Event

SMALL = Duel({})
SPLIT = Position((0, 0, 1, 1), (3, 5, 3, 4), 0, 10)


def test_an_action_without_chance_is_an_event_of_its_ply_seat_and_move() -> None:
    opening = Position((0, NO_OWNER, 1, NO_OWNER), (3, 0, 3, 0), 1, 7)
    assert SMALL.apply(opening, Action("invade", 3), NO_DICE)[1] == Event(ply=7, seat=1, move={"do": "invade", "to": 3})
    reinforced = Event(ply=10, seat=0, move={"do": "reinforce", "at": 1})
    assert SMALL.apply(SPLIT, Action("reinforce", 1), NO_DICE)[1] == reinforced


def test_a_refusal_names_twelve_legal_moves_of_a_kind_and_counts_the_others() -> None:
    game = Duel({"map": "grid-6x6"})
    state = Position((1, *(NO_OWNER,) * 35), (3, *(0,) * 35), 0, 2)
    with pytest.raises(IllegalMove) as refused:
        game.apply(state, Action("invade", 0), NO_DICE)
    assert str(refused.value).endswith("legal: invade 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 23 more")


def test_the_board_is_its_map_with_every_owner_and_all_troops() -> None:
    assert SMALL.draw_board(SPLIT) == draw_map(SMALL.map, SPLIT.owner, SPLIT.troops)
