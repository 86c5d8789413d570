"""The draft rule: where units go on maps small enough to work it out by hand."""

from __future__ import annotations

import random

import pytest

from games.risk.rules import maps
from games.risk.rules.draft import pressure_draft

ROW = ((1,), (0, 2), (1, 3), (2, 4), (3, 5), (4,))
"""Six territories in a row."""


def test_units_go_to_the_half_under_most_pressure_in_its_proportion() -> None:
    # 1 has 6 enemies to 2 of its own, 3 has 10 to 1, 5 has 4 to 4: kept are 3 and 1, with shares of 10/13 and 3/13.
    owner, troops = (1, 0, 1, 0, 1, 0), (0, 2, 6, 1, 4, 4)
    assert pressure_draft(ROW, owner, troops, 0, 13) == ((1, 3), (3, 10))
    assert pressure_draft(ROW, owner, troops, 0, 5) == ((1, 1), (3, 4))


def test_of_an_odd_number_the_greater_half_is_kept() -> None:
    # Under pressure are 0 with 4, 2 with 6 and 4 with 3: two of the three are kept.
    assert pressure_draft(ROW, (0, 1, 0, 1, 0, 1), (1, 4, 1, 2, 1, 1), 0, 10) == ((0, 4), (2, 6))


def test_of_equal_pressure_the_lower_index_comes_first() -> None:
    assert pressure_draft(ROW, (0, 1, 0, 1, 0, 1), (1, 1, 2, 1, 2, 1), 0, 4) == ((0, 2), (2, 2))


def test_a_kept_territory_gets_at_least_one_while_units_last() -> None:
    owner, troops = (1, 0, 1, 0, 0, 0), (50, 1, 50, 99, 1, 1)
    assert pressure_draft(ROW, owner, troops, 0, 9) == ((1, 9),)
    assert pressure_draft(ROW, owner, troops, 0, 200) == ((1, 199), (3, 1))
    assert pressure_draft(ROW, owner, troops, 0, 1) == ((1, 1),)


def test_what_rounding_leaves_goes_around_from_the_most_pressed() -> None:
    # Three equal shares of four units are 1.33 each, rounded to 1; the fourth goes to the first of them.
    ring = tuple(((at - 1) % 12, (at + 1) % 12) for at in range(12))
    assert pressure_draft(ring, (0, 1) * 6, (1,) * 12, 0, 4) == ((0, 2), (2, 1), (4, 1))


def test_where_no_enemy_is_near_the_shares_are_equal() -> None:
    assert pressure_draft(ROW, (0,) * 6, (1,) * 6, 0, 7) == ((0, 3), (1, 2), (2, 2))


@pytest.mark.parametrize("name", maps.MAP_NAMES)
def test_a_draft_spends_exactly_its_units_on_its_own_territories(name: str) -> None:
    chooser = random.Random(name)
    board = maps.load_map(name)
    for _ in range(300):
        owner = [chooser.randrange(4) for _ in range(len(board))]
        troops = [chooser.choice((1, 2, 3, 50, 1000)) for _ in owner]
        seat, units = chooser.choice(owner), chooser.randint(1, 60)
        placed = pressure_draft(board.neighbours, owner, troops, seat, units)
        assert sum(count for _, count in placed) == units
        assert all(owner[at] == seat and count >= 1 for at, count in placed)
        assert [at for at, _ in placed] == sorted({at for at, _ in placed})
        assert len(placed) <= (owner.count(seat) + 1) // 2
