"""Student's distribution, and the errors and degrees of freedom behind the intervals."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measuring.student_t import satterthwaite, standard_error, student_cdf, t_critical

TABLE = [
    (1, 12.7062),
    (2, 4.3027),
    (3, 3.1824),
    (5, 2.5706),
    (10, 2.2281),
    (31, 2.0395),
    (499, 1.96473),
    (1000, 1.96234),
]


@pytest.mark.parametrize(("freedom", "reach"), TABLE)
def test_students_interval_is_that_of_tables(freedom: int, reach: float) -> None:
    assert t_critical(freedom) == pytest.approx(reach, abs=5e-5)
    assert student_cdf(reach, freedom) == pytest.approx(0.975, abs=5e-6)


@given(st.floats(-50, 50), st.floats(1, 5000))
def test_students_distribution_is_symmetric_and_heavier_than_the_normal_one(t: float, freedom: float) -> None:
    below = student_cdf(t, freedom)
    assert below + student_cdf(-t, freedom) == pytest.approx(1)
    normal = (1 + math.erf(t / math.sqrt(2))) / 2
    assert min(below, 1 - below) >= min(normal, 1 - normal) - 1e-6


def test_values_that_are_all_equal_have_the_error_of_what_may_have_been_missed() -> None:
    assert standard_error(0.04, 100, 99, max_error=1.0) == pytest.approx(0.2)
    found = standard_error(1e-20, 100, 99, max_error=0.5)
    assert found * t_critical(99) == pytest.approx(0.5 * (1 - 0.05 ** (1 / 100)))


def test_errors_that_are_put_together_have_the_fewest_degrees_of_freedom_of_any_to_those_of_all() -> None:
    assert satterthwaite([(0.1, 9), (0.0, 4)]) == pytest.approx(9)
    assert satterthwaite([(0.1, 9), (0.1, 9), (0.1, 9)]) == pytest.approx(27)
    assert satterthwaite([(0.0, 9), (0.0, 4)]) == 13


@given(st.floats(1e-12, 1e6), st.integers(1, 1000), st.integers(1, 20))
def test_errors_that_are_alike_have_a_whole_number_of_degrees_of_freedom(
    square: float, freedom: int, parts: int
) -> None:
    assert satterthwaite([(square, freedom)] * parts) == freedom * parts
    assert satterthwaite([(square, freedom), (0.0, 3)]) == freedom


def test_a_fraction_of_a_degree_of_freedom_is_more_than_rounding() -> None:
    assert satterthwaite([(1e-3, 3), (1e-8, 3)]) == pytest.approx(3 + 6e-5, abs=1e-9)
    assert satterthwaite([(1.0, 3), (1.0, 4)]) == pytest.approx(48 / 7)


def test_errors_that_only_rounding_makes_more_than_0_have_the_degrees_of_freedom_of_all() -> None:
    assert satterthwaite([(1e-34, 3), (0.0, 5)]) == 8
    assert satterthwaite([(1e-200, 3), (0.0, 5)]) == 8
