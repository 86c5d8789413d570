"""What a test will take, by pairs of a pilot that have the mean of either hypothesis."""

from __future__ import annotations

from random import Random

import pytest

from measuring import resampling
from measuring.resampling import forecast
from measuring.sequential import Hypotheses, Pentanomial, RealValued
from protocol.errors import UsageFault

H1 = Hypotheses(h1=0.05)
CHANCE = Random(1)
PILOT = [CHANCE.gauss(0.7, 0.1) for _ in range(50)]
RESULTS = [CHANCE.choice([0.5, 0.75, 1.0]) for _ in range(50)]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "MAX_TESTS", 60)


def known(pairs: int | None) -> int:
    assert pairs is not None
    return pairs


@pytest.mark.no_cover
def test_adjusted_pairs_are_moved_to_the_mean_of_either_hypothesis_wherever_they_were() -> None:
    found = forecast(RealValued, H1, PILOT, 1000, "a")
    for simulated in (found.h0, found.h1):
        assert simulated.errors < 0.15
        assert simulated.undecided == 0
        assert 32 <= known(simulated.median) <= known(simulated.percentile_90) < 200
        assert simulated.tests == 60
    wide = forecast(RealValued, H1, [2 * score - 0.7 for score in PILOT], 1000, "a")
    assert known(wide.h0.median) > 1.5 * known(found.h0.median)


def test_results_get_the_chances_that_are_likeliest_under_either_hypothesis() -> None:
    found = forecast(Pentanomial, Hypotheses(h1=0.2), RESULTS, 1000, "a")
    assert found.h0.errors < 0.15
    assert found.h1.errors < 0.15
    nelo = forecast(Pentanomial, Hypotheses(h1=300, unit="nelo"), RESULTS, 1000, "a")
    assert known(nelo.h1.median) < 30


def test_what_is_undecided_after_the_most_pairs_is_no_error_and_has_not_ended_by_then() -> None:
    found = forecast(RealValued, H1, PILOT, 38, "a").h0
    assert 0.3 < found.undecided < 0.5
    assert found.errors + found.undecided <= 1
    assert known(found.median) <= 38
    assert found.percentile_90 is None
    assert forecast(RealValued, H1, PILOT, 31, "a").h0.median is None


def test_equal_seeds_give_equal_forecasts_and_so_many_pairs_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "MAX_DRAWN_PAIRS", 500)
    found = forecast(RealValued, H1, PILOT, 1000, "a")
    assert found == forecast(RealValued, H1, PILOT, 1000, "a") != forecast(RealValued, H1, PILOT, 1000, "b")
    assert 1 < found.h0.tests < 20


def test_adjusted_pairs_have_no_normalised_elo() -> None:
    with pytest.raises(UsageFault, match="normalised Elo needs results with luck left in"):
        forecast(RealValued, Hypotheses(h1=5, unit="nelo"), PILOT, 1000, "a")
