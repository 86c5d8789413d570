"""What chance may do to a round or a deal, listed with its probability: all that happens, as often as it happens."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from protocol.dice import Dice
from protocol.games import load_game
from protocol.games.simultaneous import SimultaneousGame

DRAWS = 6000
CUBE = [[[row, column] for column in range(3)] for row in range(4)]


@pytest.mark.parametrize(
    ("config", "moves", "count"),
    [
        ({"noise": "0.3"}, {0: 0, 1: 1}, 4),
        ({"go_on": "0.6"}, {0: 1, 1: 1}, 2),
        ({"noise": "0.25", "go_on": "0.5"}, {0: 0, 1: 0}, 8),
        ({"payoffs": CUBE, "noise": "0.5"}, {0: 3, 1: 0}, 12),
        ({"rounds": 1, "go_on": "0.5"}, {0: 0, 1: 0}, 1),
        ({}, {0: 0, 1: 0}, 1),
    ],
    ids=str,
)
def test_a_round_comes_out_as_often_as_its_outcomes_say(
    config: dict[str, Any], moves: dict[int, int], count: int
) -> None:
    game = load_game("dilemma", config)
    assert isinstance(game, SimultaneousGame)
    begin = game.initial(Dice(b"", 0))[0]
    outcomes = {state: chance for chance, state in game.round_outcomes(begin, moves)}
    assert len(outcomes) == count
    assert sum(outcomes.values()) == Fraction(1)
    seen = Counter(game.resolve_round(begin, moves, Dice(b"%d" % number, 0))[0] for number in range(DRAWS))
    assert seen.keys() == outcomes.keys()
    for state, chance in outcomes.items():
        deviation = (DRAWS * float(chance * (1 - chance))) ** 0.5
        assert seen[state] == pytest.approx(DRAWS * float(chance), abs=4 * deviation)


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_the_first_deal_of_poker_is_among_the_outcomes_of_what_is_not_dealt_yet(name: str) -> None:
    game = load_game(name)
    before = game.state_before_deal()
    assert before is not None
    dealt = {state for _, state in game.chance_outcomes(before)}
    assert {game.initial(Dice(b"%d" % number, 0))[0] for number in range(500)} == dealt


def test_starts_that_pairs_share_are_no_chance() -> None:
    for name in ("nim", "risk-duel", "risk-campaign", "dilemma"):
        assert load_game(name).state_before_deal() is None
