"""How many games a sequential test takes: what is said before it is what comes of it."""

from __future__ import annotations

from itertools import permutations
from random import Random
from statistics import fmean, pvariance

import pytest

from measuring.expected_length import expected_length, variance_of_equal_bots
from measuring.sequential import Hypotheses, RealValued


@pytest.mark.parametrize(("seats", "own"), [(2, 1), (3, 1), (5, 2), (6, 3)])
def test_the_variance_of_equal_bots_is_that_over_all_orders(seats: int, own: int) -> None:
    shares = [
        sum(order[one] < order[other] for one in range(own) for other in range(own, seats)) / own / (seats - own)
        for order in permutations(range(seats))
    ]
    assert pvariance(shares) == pytest.approx(variance_of_equal_bots(seats, own))


@pytest.mark.parametrize("mean", [0.5, 0.54, 0.58])
def test_tests_take_about_as_many_games_as_was_said(mean: float) -> None:
    hypotheses, chance, taken = Hypotheses(h1=0.08), Random(1), []
    for _ in range(60):
        test = RealValued(hypotheses)
        while test.verdict is None:
            test.add(chance.gauss(mean, 0.35))
        taken.append(test.pairs)
    said = expected_length(hypotheses, 0.35**2)
    assert fmean(taken) == pytest.approx(said.between if mean == 0.54 else said.decided, rel=0.35)


def test_normalised_elo_needs_no_variance() -> None:
    asked = Hypotheses(h1=10.0, unit="nelo")
    assert expected_length(asked, 0.25) == expected_length(asked, 0.1)
    alike = expected_length(Hypotheses(h1=10 * 0.5 / 347.4), 0.25)
    assert expected_length(asked, 0.25).decided == pytest.approx(alike.decided, rel=0.01)
