"""The mean over opponents: what weighs how much, and how often its interval holds the truth."""

from __future__ import annotations

import random
import statistics

import pytest

from measuring.payoffs import MAX_WEIGHT_ROUNDS, TotalPayoff, mean_of_rounds, mean_payoff, pair_payoffs


def test_without_a_match_there_is_no_mean() -> None:
    assert mean_payoff([]) is None


def test_where_nobody_was_met_twice_there_is_no_interval() -> None:
    found = mean_payoff([pair_payoffs([1.0], 10), pair_payoffs([4.0], 10)])
    assert found is not None
    assert (found.mean, found.low, found.high, found.opponents) == (2.5, None, None, 2)


def test_the_interval_is_students_of_the_opponents_errors() -> None:
    found = mean_payoff([pair_payoffs([1.0, 2.0, 3.0], 30)])
    assert found is not None
    reach = 4.302652729749464 / 3**0.5  # t with 2 degrees of freedom, 0.975; s is 1
    assert (found.low, found.high) == pytest.approx((2 - reach, 2 + reach))


def test_one_that_was_met_once_has_the_variance_within_the_others() -> None:
    known = pair_payoffs([1.0, 2.0, 3.0], 30)
    found = mean_payoff([known, pair_payoffs([7.0], 30)])
    assert found is not None
    # Of a match of 10 rounds the variance is 1, of the one of 30 rounds 1/3, of the mean 1/4 (1/3 + 1/3) by t with
    # (1/3 + 1/3)² / ((1/3)²/2 + (1/3)²/2) = 4 degrees of freedom
    reach = 2.7764451051977987 * ((1 / 3 + 1 / 3) / 4) ** 0.5
    assert (found.low, found.high) == pytest.approx((4.5 - reach, 4.5 + reach))


def test_payoffs_that_never_vary_leave_nothing_open() -> None:
    found = mean_payoff([pair_payoffs([3.0, 3.0], 20), pair_payoffs([1.0], 20)])
    assert found is not None
    assert found.low == found.mean == found.high == 2.0


@pytest.mark.no_cover
@pytest.mark.parametrize("met", [(2, 2, 2), (1, 5, 5), (30, 30)])
def test_the_interval_holds_the_true_mean_in_95_of_100_or_more_where_matches_are_few(met: tuple[int, ...]) -> None:
    chance = random.Random(11)
    truths = [2.0, -1.0, 0.5, 4.0][: len(met)]
    truth = sum(truth * n for truth, n in zip(truths, met, strict=True)) / sum(met)
    held = 0
    for _ in range(2000):
        pairs = [
            pair_payoffs([chance.gauss(each, 1.5) for _ in range(n)], 4 * n)
            for each, n in zip(truths, met, strict=True)
        ]
        found = mean_payoff(pairs)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
    assert 0.935 <= held / 2000 <= (0.965 if min(met) >= 9 else 1)


def test_matches_of_one_length_have_the_values_that_they_paid() -> None:
    assert mean_of_rounds([TotalPayoff(30, 10), TotalPayoff(10, 10)]) == [3.0, 1.0]


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
        found = mean_payoff(
            [pair_payoffs(mean_of_rounds([TotalPayoff(rounds + 4, rounds) for rounds in lengths]), sum(lengths))]
        )
        assert found is not None
        assert found.mean == pytest.approx((sum(lengths) + 4 * 40) / sum(lengths))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
    assert held / 500 > 0.9


def test_an_opponent_weighs_as_many_rounds_as_were_played_up_to_a_limit() -> None:
    left_at_once = mean_payoff([pair_payoffs([0.1, -0.1], 200), pair_payoffs([-13.0], 1)])
    assert left_at_once is not None
    assert left_at_once.mean == pytest.approx(-13 / 201)
    met_all_day = mean_payoff([pair_payoffs([0.0, 0.0], 5 * MAX_WEIGHT_ROUNDS), pair_payoffs([1.0], MAX_WEIGHT_ROUNDS)])
    assert met_all_day is not None
    assert met_all_day.mean == 0.5


def test_a_short_match_with_one_that_was_met_once_varies_more_than_a_long_one() -> None:
    known = pair_payoffs([1.0, 2.0, 3.0], 300)
    short, long = (mean_payoff([known, pair_payoffs([2.0], rounds)]) for rounds in (1, 100))
    assert short is not None
    assert long is not None
    # The variance of a match of 100 rounds is 1, that of one round 100; their shares of the weight 1/301 and 1/4.
    for found, error in ((short, (300 / 301) ** 2 / 3 + 100 / 301**2), (long, (3 / 4) ** 2 / 3 + 1 / 16)):
        assert found.high is not None
        reach = found.high - found.mean
        assert 2.5 < reach / error**0.5 < 4.4


def test_leaving_at_a_moment_of_ones_choice_moves_no_mean() -> None:
    # Throw-away opponents leave as soon as they are ahead, or after 50 rounds of a fair game.
    chance = random.Random(17)
    means = []
    for _ in range(300):
        pairs = []
        for _ in range(20):
            won, rounds = 0, 0
            while rounds < 50 and won < 1:
                won, rounds = won + chance.choice((-1, 1)), rounds + 1
            pairs.append(pair_payoffs([-won / rounds], rounds))
        found = mean_payoff(pairs)
        assert found is not None
        means.append(found.mean)
    error = statistics.stdev(means) / len(means) ** 0.5
    assert abs(statistics.fmean(means)) < 4 * error + 0.01
    assert error < 0.01
