"""Where things lie in drawings, and numbers as pages show them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.web import charts
from arena.web.formatting import decimal, moment, query, rating, thinking
from measuring.payoffs import MeanPayoff

values = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=20)


@given(values)
def test_a_scale_holds_its_values_between_round_ticks(values: list[float]) -> None:
    made = charts.make_scale(values, 180)
    assert made.low - 1e-6 <= min(values) <= max(values) <= made.high + 1e-6
    assert 2 <= len(made.ticks) <= 8
    assert made.at(made.low) == 0
    assert made.at(made.high) == 180
    assert made.down(made.high) == 0


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.3, 0.6, (0.3, 0.4, 0.5, 0.6)),
        (0.6, 1.2, (0.6, 0.8, 1.0, 1.2)),
        (-0.6, -0.3, (-0.6, -0.5, -0.4, -0.3)),
    ],
)
def test_a_scale_ends_at_a_tick_where_its_values_do(low: float, high: float, ticks: tuple[float, ...]) -> None:
    made = charts.payoff_scale([MeanPayoff(mean=high, low=low, high=high, opponents=1)], 180)
    assert made.ticks == ticks
    assert charts.svg_points([(made.at(low), made.down(high))]) == "0,0"


@given(values)
def test_the_ticks_of_payoffs_leave_room_for_their_labels(values: list[float]) -> None:
    made = charts.payoff_scale([MeanPayoff(mean=value, low=None, high=None, opponents=1) for value in values], 180)
    between = [made.at(after) - made.at(before) for before, after in itertools.pairwise(made.ticks)]
    assert min(between) >= 35


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_whole_ticks_begin_and_end_where_the_numbers_do(low: int, span: int) -> None:
    made = charts.integer_scale(low, low + span, 1000)
    assert made.ticks[0] == low
    assert made.ticks[-1] == max(low + span, low + 1)
    assert list(made.ticks) == sorted(set(made.ticks))
    assert len(made.ticks) <= 5


@given(values)
def test_a_small_curve_stays_within_its_box(values: list[float]) -> None:
    for point in charts.sparkline_points(values, 96, 24).split():
        x, y = map(float, point.split(","))
        assert 0 <= x <= 96
        assert 0 <= y <= 24


def test_a_rating_falls_when_the_curve_does() -> None:
    drawn = charts.rating_curve([(1, 30.0, 1.0), (2, 25.0, 1.0)], 1000, 220)
    (_, first), (_, last) = (point.split(",") for point in drawn.mean.split())
    assert float(first) < float(last)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (decimal(-0.04), "0.0"),
        (decimal(-1.25), "−1.2"),
        (decimal(1234567, 0), "1\u202f234\u202f567"),
        (rating(25.0, 8.333), "25.0 ± 25.0"),
        (thinking(None), "–"),
        (thinking(3.14), "3.1\u202fms"),
        (thinking(314), "314\u202fms"),
        (thinking(3140), "3.1\u202fs"),
        (moment("2026-01-01T00:00:09.000Z"), "2026-01-01 00:00"),
        (query({"a": "x y", "b": None, "c": ""}, after="é"), "?a=x+y&after=%C3%A9"),
        (query({}), ""),
    ],
)
def test_numbers_as_pages_show_them(shown: str, expected: str) -> None:
    assert shown == expected
