"""Confidence sequences: valid whenever you stop, as narrow as they may be, for scores that leave 0 to 1 too."""

from __future__ import annotations

import math
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measuring.confidence_sequence import (
    BET_FRACTIONS,
    CAPITAL_SHARES,
    Interval,
    bets,
    confidence_sequence,
    log_capital,
)

scores = st.lists(st.floats(0, 1), max_size=30)


def capital(seen: tuple[float, ...], mean: float) -> float:
    """What a stake of 1 has become against a mean of scores within 0 to 1."""
    return math.exp(log_capital([sum(math.log(1 + bet * (x - mean)) for x in seen) for bet in bets(mean, 0, 1)]))


def test_the_parts_of_the_stake_are_all_of_it() -> None:
    assert sum(CAPITAL_SHARES) == pytest.approx(1)
    assert len(CAPITAL_SHARES) == len(BET_FRACTIONS)


@pytest.mark.parametrize("chance", [0.05, 0.5, 0.9])
def test_nobody_can_expect_to_win_against_the_true_mean(chance: float) -> None:
    """Over everything that six scores of 0 or 1 can be, the stake is what it was, on average."""
    expected = sum(
        math.prod(chance if x else 1 - chance for x in seen) * capital(seen, chance)
        for seen in product((0.0, 1.0), repeat=6)
    )
    assert expected == pytest.approx(1)


@pytest.mark.no_cover
@given(scores)
def test_the_interval_holds_the_mean_and_what_is_outside_has_cost_nineteen_stakes(seen: list[float]) -> None:
    found = confidence_sequence(seen)
    assert found.low <= (sum(seen) / len(seen) if seen else 0.5) <= found.high
    for end in (found.low - 0.001, found.high + 0.001):
        if 0 < end < 1:
            assert capital(tuple(seen), end) >= 20


def test_without_scores_it_is_everything() -> None:
    assert confidence_sequence([]) == Interval(0.0, 1.0)


def test_scores_that_are_alike_leave_open_what_may_not_have_come_yet() -> None:
    """A whole pair lost in one of fifty is not seen in a hundred with a chance of an eighth: 0.5 may be 0.49."""
    alike = confidence_sequence([0.5] * 100)
    assert alike.low < 0.49 < 0.51 < alike.high
    assert alike.high - alike.low < 0.05
    assert confidence_sequence([1.0] * 20).low == pytest.approx(0.805, abs=0.001)


def test_scores_beyond_0_and_1_widen_what_is_bet_on_and_the_interval_stays_within() -> None:
    chance = Random(1)
    within = [0.5 + chance.uniform(-0.1, 0.1) for _ in range(200)]
    plain, wide = confidence_sequence(within), confidence_sequence([*within, 2.0, -1.0])
    assert wide.high - wide.low > plain.high - plain.low
    assert confidence_sequence([1.5] * 50) == Interval(1.0, 1.0)


@pytest.mark.no_cover
def test_the_true_mean_is_rarely_ever_outside_however_often_one_looks() -> None:
    """Coins of 0.3 in 100 throws, looked at after each: at most one course in twenty leaves, and some margin."""
    left = 0
    for seed in range(200):
        chance, seen = Random(seed), []
        logs = [0.0] * len(BET_FRACTIONS)
        by = bets(0.3, 0, 1)
        for _ in range(100):
            seen.append(float(chance.random() < 0.3))
            logs = [log + math.log(1 + bet * (seen[-1] - 0.3)) for log, bet in zip(logs, by, strict=True)]
            if log_capital(logs) >= math.log(20):
                left += 1
                break
    assert left <= 10
