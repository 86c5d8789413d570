"""What the evaluations of Risk say, by hand and at the edges; the flat arrays say the same."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from bots.evaluation import load_evaluation, names_of
from exact_boards import board
from games.risk.evaluation import breadth_first_pairs, features, unam, unam_score
from games.risk.measuring.features import measure_features
from games.risk.rules.duel import Duel, Position
from games.risk.rules.maps import load_map
from games.risk.search.flat_position import MODES, board_values, evaluate, make_state, scale_values
from machine.compiled import floats, ints

RULES = Duel({"map": board([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]).encoded})
"""On a square with a diagonal, of the territories a to d."""
MIXED = Position((0, 1, 0, -1), (4, 2, 6, 0), 0, 9)
"""MAX, seat 0, has a and c with 4 and 6, the enemy b with 2; d is free."""


def test_the_four_features_of_a_small_position() -> None:
    share, army, strength, compactness = measure_features(RULES, MIXED, 0)
    assert share == 2 / 4
    assert army == 10 / 12
    assert strength == pytest.approx((4 / 6 + 6 / 8) / 2)
    assert compactness == pytest.approx(1 - (1 / 2 + 1 / 3) / 2)


def test_a_territory_without_enemy_neighbours_is_strong() -> None:
    alone = Position((-1, 0, -1, -1), (0, 3, 0, 0), 0, 1)
    assert measure_features(RULES, alone, 0) == (1 / 4, 1, 1, 1)


def test_a_seat_without_territories_has_nothing() -> None:
    for owner in ((-1, -1, -1, -1), (1, 1, -1, 1)):
        state = Position(owner, tuple(3 * (held >= 0) for held in owner), 0, 1)
        assert measure_features(RULES, state, 0) == (0, 0, 0, 0)
        assert -1 < features(RULES, state, 0) < -0.99


def test_weights_choose_among_the_features() -> None:
    assert features(RULES, MIXED, 0, (1, 0, 0, 0)) == 0
    assert features(RULES, MIXED, 0, (0, 5, 0, 0)) == pytest.approx(0.999 * 2 / 3)
    assert features(RULES, MIXED, 0) == pytest.approx(sum(features(RULES, MIXED, 0, row) for row in UNITS) / 4)


UNITS = [tuple(float(i == j) for j in range(4)) for i in range(4)]


def test_the_walk_of_unam_scores_every_territory_once_and_the_first_from_its_neighbour() -> None:
    assert breadth_first_pairs(RULES.map) == [(0, 1), (0, 2), (1, 0), (1, 3)]


def test_the_score_of_unam_by_hand() -> None:
    # b seen from a: −2 − 1, twice −1 as a is MAX's, +1 as 4 > 2; c from a: 6 + 1, −1 as 4 < 6;
    # a from b: 4 + 1, −1; d from b: the score is not below its degree 2, +1 as 2 > 0.
    assert unam_score(RULES, MIXED, 0) == (-3 - 2 + 1) + (7 - 1) + (5 - 1) + 1
    # From seat 1: 3 + 1; −7 − 1; −5, twice −1, −1; d is free and the score below 2: + 2 + 1.
    assert unam_score(RULES, MIXED, 1) == 4 - 8 - 8 + 3


def test_unam_gives_the_empty_map_the_degrees_until_the_score_is_as_great() -> None:
    empty = Position((-1,) * 4, (0,) * 4, 0, 0)
    assert unam_score(RULES, empty, 0) == 3  # b gives its 3; none of the others has more


@pytest.mark.parametrize("map_", ["africa", "world"])
@pytest.mark.parametrize("name", ["features", "unam"])
def test_evaluations_stay_strictly_between_a_loss_and_a_win(map_: str, name: str) -> None:
    rules = Duel({"map": map_, "max_troops": 100})
    evaluate = load_evaluation("risk-duel", name)
    count = len(rules.map)
    for owner, troops in (
        ((0,) * count, (100,) * count),
        ((1,) * count, (100,) * count),
        ((-1,) * count, (0,) * count),
    ):
        assert -1 < evaluate(rules, Position(owner, troops, 0, 9), 0) < 1


@pytest.mark.parametrize("map_", ["africa", "asia", "world"])
def test_the_flat_arrays_agree_with_the_features_whatever_the_number_of_seats(map_: str) -> None:
    rng = random.Random(1)
    rules: Any = SimpleNamespace(map=load_map(map_))
    flat, size = ints(board_values(rules.map)), len(rules.map)
    for seats in range(2, 7):
        weights = tuple(rng.uniform(0, 10) for _ in range(4))
        scale = floats(scale_values(rules.map, weights, 1.0))
        for seat in range(seats):
            owner = [rng.randrange(-1, seats) for _ in range(size)]
            troops = [rng.randint(1, 200) if held >= 0 else 0 for held in owner]
            position = SimpleNamespace(owner=owner, troops=troops)
            readable = features(rules, position, seat, weights)
            assert evaluate(flat, make_state(flat, position, seat, MODES["features"]), scale) == pytest.approx(
                readable, abs=1e-7
            )


def test_the_flat_arrays_agree_with_unam() -> None:
    rng = random.Random(2)
    rules = Duel({"map": "europe", "max_troops": 7})
    flat, scale = ints(board_values(rules.map)), floats(scale_values(rules.map, (1, 1, 1, 1), 1.0, rules.max_troops))
    for _ in range(100):
        owner = tuple(rng.randrange(-1, 2) for _ in range(len(rules.map)))
        position = Position(owner, tuple(rng.randint(1, 7) if held >= 0 else 0 for held in owner), rng.randrange(2), 9)
        state = make_state(flat, position, position.seat, MODES["unam"])
        assert evaluate(flat, state, scale) == pytest.approx(unam(rules, position, position.seat), abs=1e-12)


def test_risk_evaluations_are_found_by_name_and_the_best_is_the_default() -> None:
    assert names_of("risk-duel") == ("features", "unam", "none")
    assert names_of("risk-campaign") == ("outlook", "features", "none")
    assert load_evaluation("risk-duel") is features
