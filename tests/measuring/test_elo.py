"""Differences of Elo, logistic and normalised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measuring.elo import Comparison, EloDifference, compare_scores, elo_difference, elo_of, score_of
from measuring.normalised_elo import normalised_elo
from measuring.scores import Estimate


@pytest.mark.parametrize(("score", "elo"), [(0.5, 0), (0.76, 200), (0.64, 100), (10 / 11, 400), (1 / 11, -400)])
def test_a_score_is_a_difference_of_elo(score: float, elo: float) -> None:
    assert elo_of(score) == pytest.approx(elo, abs=0.3)


@given(st.floats(-900, 900))
def test_and_back_again(elo: float) -> None:
    assert elo_of(score_of(elo)) == pytest.approx(elo, abs=1e-6)


def test_the_interval_has_the_elo_of_its_ends_as_far_as_they_have_one() -> None:
    estimate = Estimate(mean=0.6, low=0.5, high=1.02, error=0.1, superiority=0.8)
    assert elo_difference(estimate) == EloDifference(elo=elo_of(0.6), low=0, high=None)
    within = Estimate(mean=0.5, low=0.4, high=0.7, error=0.1, superiority=0.5)
    assert elo_difference(within) == EloDifference(elo=0, low=elo_of(0.4), high=elo_of(0.7))
    assert (elo_of(0), elo_of(1), elo_of(-0.1)) == (None, None, None)


def test_a_comparison_is_a_score_with_its_elo() -> None:
    estimate = Estimate(mean=0.6, low=0.5, high=0.7, error=0.1, superiority=0.8)
    assert compare_scores(estimate) == Comparison(
        score=0.6, low=0.5, high=0.7, superiority=0.8, elo=elo_difference(estimate)
    )


def test_normalised_elo_is_what_fastchess_says() -> None:
    counts = [379, 10170, 21828, 10640, 343]  # pull request 783: 3.05 +/- 2.31
    found = normalised_elo([quarter / 4 for quarter, count in enumerate(counts) for _ in range(count)])
    assert found is not None
    assert found.elo == pytest.approx(3.05, abs=0.005)
    assert found.high is not None
    assert found.high - 3.0505 == pytest.approx(2.31, abs=0.005)
    assert found.low == pytest.approx(2 * 3.0505 - found.high, abs=0.001)


def test_normalised_elo_wants_pairs_that_differ() -> None:
    assert normalised_elo([0.5, 0.75]) is not None
    assert normalised_elo([]) is normalised_elo([0.75]) is normalised_elo([0.75] * 5) is None
