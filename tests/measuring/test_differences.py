"""Differences measured in pairs: their means and sums, with intervals."""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from measuring.differences import NO_DIFFERENCE, exact_difference, mean_difference, sum_differences


def test_a_mean_has_student_s_interval() -> None:
    # s² = 0.07, and Student's t for 3 degrees of freedom is 3.182446
    found = mean_difference([0.1, 0.4, -0.2, 0.3])
    assert (found.mean, found.freedom) == (pytest.approx(0.15), 3)
    assert (found.low, found.high) == (pytest.approx(-0.270998, abs=1e-6), pytest.approx(0.570998, abs=1e-6))


def test_where_all_are_equal_a_few_that_are_not_may_have_been_missed() -> None:
    found = mean_difference([0.0] * 100, max_error=1.0)
    assert (found.low, found.high) == (pytest.approx(0.05 ** (1 / 100) - 1), pytest.approx(1 - 0.05 ** (1 / 100)))
    assert mean_difference([0.25] * 3).low == 0.25


def test_what_is_certain_adds_nothing_to_the_interval_of_a_sum() -> None:
    measured = mean_difference([0.1, 0.4, -0.2, 0.3])
    total = sum_differences([measured, exact_difference(1.0), NO_DIFFERENCE])
    assert (total.mean, total.low) == (pytest.approx(1.15), pytest.approx(1.0 + measured.low))
    assert sum_differences([exact_difference(1.0), exact_difference(-3.0)]) == exact_difference(-2.0)


def test_the_interval_of_a_sum_holds_the_true_one_in_19_of_20_cases() -> None:
    chance = random.Random(1)
    held = []
    for _ in range(1000):
        parts = [[chance.gauss(each, 1 + each) for _ in range(5)] for each in range(4)]
        total = sum_differences(map(mean_difference, parts))
        held.append(total.low <= 6 <= total.high)
    assert 0.93 < fmean(held) < 0.98
