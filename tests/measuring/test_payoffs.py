"""The mean over opponents: what weighs how much, and how often its interval holds the truth."""

from __future__ import annotations

import random

import pytest

from measuring.payoffs import Paid, PairPayoffs, mean_of_rounds, mean_payoff, pair_payoffs


def test_without_a_match_there_is_no_mean() -> None:
    assert mean_payoff([]) is None


def test_where_nobody_was_met_twice_there_is_no_interval() -> None:
    found = mean_payoff([pair_payoffs([1.0]), pair_payoffs([4.0])])
    assert found is not None
    assert (found.mean, found.low, found.high, found.opponents) == (2.5, None, None, 2)


def test_the_interval_is_students_of_the_opponents_errors() -> None:
    found = mean_payoff([pair_payoffs([1.0, 2.0, 3.0])])
    assert found is not None
    reach = 4.302652729749464 / 3**0.5  # t with 2 degrees of freedom, 0.975; s is 1
    assert (found.low, found.high) == pytest.approx((2 - reach, 2 + reach))


def test_one_that_was_met_once_has_the_variance_within_the_others() -> None:
    known = pair_payoffs([1.0, 2.0, 3.0])
    found = mean_payoff([known, PairPayoffs(1, 7.0, 0.0)])
    assert found is not None
    # 1/4 (1/3 + 1) by t with (1/3 + 1)² / ((1/3)²/2 + 1²/2) = 3.2 degrees of freedom, rounded down
    reach = 3.182446305284263 * ((1 / 3 + 1) / 4) ** 0.5
    assert (found.low, found.high) == pytest.approx((4.5 - reach, 4.5 + reach))


def test_payoffs_that_never_vary_leave_nothing_open() -> None:
    found = mean_payoff([pair_payoffs([3.0, 3.0]), pair_payoffs([1.0])])
    assert found is not None
    assert found.low == found.mean == found.high == 2.0


@pytest.mark.parametrize("met", [(2, 2, 2), (1, 5, 5), (30, 30), (9, 50, 20), (2, 50, 9, 4)])
def test_the_interval_holds_the_true_mean_in_95_of_100_or_more_where_matches_are_few(met: tuple[int, ...]) -> None:
    chance = random.Random(11)
    truths = [2.0, -1.0, 0.5, 4.0][: len(met)]
    held = 0
    for _ in range(2000):
        pairs = [
            pair_payoffs([chance.gauss(truth, 1.5) for _ in range(n)]) for truth, n in zip(truths, met, strict=True)
        ]
        found = mean_payoff(pairs)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= sum(truths) / len(truths) <= found.high
    assert 0.935 <= held / 2000 <= (0.965 if min(met) >= 9 else 1)


def test_matches_of_one_length_have_the_values_that_they_paid() -> None:
    assert mean_of_rounds([Paid(30, 10), Paid(10, 10)]) == [3.0, 1.0]


def test_the_mean_of_matches_that_chance_ends_is_that_of_all_rounds_and_its_interval_holds_it() -> None:
    # Whoever defects against tit for tat: 5 in the first round, 1 in each that follows with a chance of 0.95.
    chance, truth, held = random.Random(13), 1 + 4 * 0.05, 0
    for _ in range(500):
        lengths = []
        for _ in range(40):
            rounds = 1
            while chance.random() < 0.95:
                rounds += 1
            lengths.append(rounds)
        found = mean_payoff([pair_payoffs(mean_of_rounds([Paid(rounds + 4, rounds) for rounds in lengths]))])
        assert found is not None
        assert found.mean == pytest.approx((sum(lengths) + 4 * 40) / sum(lengths))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
    assert held / 500 > 0.9
