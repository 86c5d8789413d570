"""Attacks of the campaign at the edge of what is legal: two troops, the last territory, what is offered instead."""

from __future__ import annotations

import pytest

from games.risk.rules.campaign import Attack, Campaign, Draft, Move, Position
from protocol.errors import IllegalMove
from protocol.games.base import NO_DICE

ROW = {
    "name": "row",
    "territories": [{"name": name, "continent": 0, "x": 15 * i, "y": 50} for i, name in enumerate("ABCDEF")],
    "continents": [{"name": "All", "bonus": 0}],
    "borders": [[i, i + 1] for i in range(5)],
}
GAME = Campaign({"map": ROW, "battle": "deterministic"})
MIXED = Position((0, 1, 0, 1, 1, 1), (2, 3, 1, 1, 1, 2), "attack", 0, 3, 1, (), 0, 7)
"""Seat 0 has two troops on A and one on C; all its neighbours are enemies."""


def refused(move: Move, state: Position = MIXED) -> str:
    with pytest.raises(IllegalMove) as why:
        GAME.apply(state, move, NO_DICE)
    return str(why.value)


def test_of_two_troops_one_can_attack() -> None:
    state, _ = GAME.apply(MIXED, Attack(1, 0, 1), NO_DICE)
    assert state.troops[0] == 1
    assert refused(Attack(1, 0, 2)) == "territory 0 (A), seat 0's with 2 troops, can attack with 1 to 1 units, not 2"


def test_a_single_troop_is_told_who_can_attack() -> None:
    assert refused(Attack(1, 2, 1)) == (
        "territory 2 (C), seat 0's with 1 troop, cannot attack: 1 has to stay behind; can attack: 0"
    )


@pytest.mark.parametrize("move", [Attack(1, 6, 1), Attack(6, 0, 1)])
def test_there_is_no_territory_beyond_the_last(move: Attack) -> None:
    assert refused(move) == "there is no territory 6: they are 0 to 5"
    draft = MIXED._replace(phase="draft", units=3)
    assert refused(Draft(((6, 3),)), draft) == "there is no territory 6: they are 0 to 5"
