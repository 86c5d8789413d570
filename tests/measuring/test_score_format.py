"""Scores in words, as tables and lines have them."""

from __future__ import annotations

import pytest

from measuring import score_format
from measuring.elo import Comparison, compare_scores
from measuring.scores import Estimate
from measuring.variance_reduction import VarianceReduction, format_reduction


def found(mean: float, low: float, high: float, superiority: float = 0.975) -> Comparison:
    return compare_scores(Estimate(mean=mean, low=low, high=high, error=0.1, superiority=superiority))


def test_a_score_is_told_with_its_interval_and_its_elo() -> None:
    score = found(0.65, 0.582, 0.713)
    assert score_format.format_score_with_interval(score) == "0.650 (0.582-0.713)"
    assert score_format.format_elo_with_interval(score) == "Elo +108 (+57 to +158)"
    assert score_format.format_superiority(score) == "97.5 %"


@pytest.mark.parametrize(
    ("mean", "low", "high", "said"),
    [
        (-0.0001, -0.139, 0.139, "0.000 (-0.139 to 0.139)"),
        (-0.15, -0.2, -0.1, "-0.150 (-0.200 to -0.100)"),
        (0.1, -0.0001, 0.2, "0.100 (0.000-0.200)"),
    ],
)
def test_an_interval_that_begins_below_nothing_is_told_in_words(
    mean: float, low: float, high: float, said: str
) -> None:
    assert score_format.format_score_with_interval(found(mean, low, high)) == said


def test_elo_of_all_or_nothing_is_infinite_and_its_interval_told_by_the_end_that_it_has() -> None:
    assert score_format.format_elo_with_interval(found(0.9, 0.7, 1.0)) == "Elo +382 (+147 or more)"
    assert score_format.format_elo_with_interval(found(0.0, 0.0, 0.2)) == "Elo -inf (-241 or less)"
    assert score_format.format_elo_with_interval(found(1.0, 0.9, 1.0)) == "Elo +inf (+382 or more)"
    assert score_format.format_elo_with_interval(found(1.0, 0.25, 1.0)) == "Elo +inf (-191 or more)"
    assert score_format.format_elo_with_interval(found(1.0, 1.0, 1.0)) == "Elo +inf (+1200 or more)"
    assert score_format.format_elo_with_interval(found(0.0, 0.0, 0.0)) == "Elo -inf (-1200 or less)"
    assert score_format.format_elo_with_interval(found(0.5, 0.0, 1.0)) == "Elo +0 (any)"


def test_a_difference_that_is_next_to_nothing_is_not_less_than_nothing() -> None:
    assert score_format.format_elo(found(0.4999, 0.4, 0.6)) == "+0"
    assert score_format.format_score_with_interval(found(-0.0001, -0.0002, 0.2)) == "0.000 (0.000-0.200)"


@pytest.mark.parametrize(
    ("chance", "said"),
    [(0.99999, "> 99.9"), (0.999, "99.9"), (0.5, "50.0"), (0.005, "0.5"), (0.001, "0.1"), (0.0000001, "< 0.1")],
)
def test_nothing_is_certain(chance: float, said: str) -> None:
    assert score_format.format_superiority(found(0.5, 0.4, 0.6, chance)) == f"{said} %"


@pytest.mark.parametrize(
    ("count", "said"),
    [(4391.2, "4,400"), (95.7, "96"), (101.0, "100"), (1_397_014.5, "1,400,000"), (9.6, "10"), (0.6, "1"), (0.0, "0")],
)
def test_games_have_two_digits_that_count(count: float, said: str) -> None:
    assert score_format.format_games(count) == said


def test_a_factor_is_told_with_its_interval() -> None:
    assert format_reduction(VarianceReduction(149.26, 104.4, 238.3)) == "149 (104-238) times as many"
    assert format_reduction(VarianceReduction(12.3, 9.87, None)) == "12.3 (9.87-inf) times as many"
    assert format_reduction(VarianceReduction(7.42, 6.51, 8.33)) == "7.42 (6.51-8.33) times as many"
    assert format_reduction(VarianceReduction(1234.5, 999.7, 15_432.1)) == "1,230 (1,000-15,400) times as many"
    assert format_reduction(VarianceReduction(999.5, 998.9, 1000.4)) == "1,000 (999-1,000) times as many"


@pytest.mark.parametrize(
    ("mean", "low", "high", "far"),
    [
        (0.5, 0.3546, 0.6454, "0.145"),
        (0.45, 0.3, 0.61, "0.200"),
        (0.55, 0.4999, 0.7, "0.200"),
        (0.5, 0.0, 1.0, "0.500"),
    ],
)
def test_of_two_that_may_be_even_the_distance_to_an_even_score_is_that_of_the_shown_interval(
    mean: float, low: float, high: float, far: str
) -> None:
    said = score_format.describe_comparison("new", "old", found(mean, low, high), "scores so")
    assert (
        said
        == f"neither new nor old is shown to be better: new scores so; its true score is within {far} of 0.5 (95 %)"
    )
