"""Strengths are those under which what was scored is likeliest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean

import pytest

from measuring.thurstone import estimate_strengths


def test_strengths_are_those_whose_scores_were_seen() -> None:
    """Of three players each as far above the one before."""
    near, far = NormalDist().cdf(-0.5), NormalDist().cdf(-1)
    found = estimate_strengths({(0, 1): [near] * 9, (1, 2): [near] * 9, (0, 2): [far] * 9}, 3)
    assert found == pytest.approx([-0.5, 0, 0.5], abs=1e-6)


def test_of_scores_that_no_strengths_explain_the_likeliest_are_found() -> None:
    scores = {(0, 1): 0.9, (1, 2): 0.6, (0, 2): 0.7}

    def likelihood(strength: Sequence[float]) -> float:
        chances = {pair: NormalDist().cdf(strength[pair[0]] - strength[pair[1]]) for pair in scores}
        return sum(
            share * math.log(chances[pair]) + (1 - share) * math.log(1 - chances[pair])
            for pair, share in scores.items()
        )

    found = estimate_strengths({pair: [share] * 9 for pair, share in scores.items()}, 3)
    for player in range(3):
        for change in (-0.001, 0.001):
            assert likelihood([each + change * (at == player) for at, each in enumerate(found)]) < likelihood(found)


@pytest.mark.parametrize(("all_won", "many_won"), [([1.0] * 4, [1.0] * 40), ([1.2] * 4, [1.2] * 40)])
def test_who_won_all_is_stronger_by_as_much_as_so_many_matches_tell(
    all_won: list[float], many_won: list[float]
) -> None:
    few, many = (estimate_strengths({(0, 1): won}, 2) for won in (all_won, many_won))
    assert few[0] - few[1] == pytest.approx(NormalDist().inv_cdf(15 / 16), abs=1e-3)
    assert many[0] - many[1] == pytest.approx(NormalDist().inv_cdf(159 / 160), abs=1e-3)
    assert fmean(many) == pytest.approx(0)
