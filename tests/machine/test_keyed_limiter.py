"""Limits by key: how often anything may happen, and how long who fails has to wait."""

from __future__ import annotations

import pytest

from machine.keyed_limiter import FailureBackoff, KeyedLimiter, TokenBucket


def test_a_rate_gives_a_burst_and_then_one_at_a_time() -> None:
    rate = KeyedLimiter(TokenBucket(3, 0.5))
    assert [rate.take("a", 100.0) for _ in range(5)] == [0, 0, 0, 2, 2]
    assert rate.take("b", 100.0) == 0
    assert rate.take("a", 101.5) == pytest.approx(0.5)
    assert [rate.take("a", 102.0), rate.take("a", 102.0)] == [0, 2]
    assert [rate.take("a", 1000.0) for _ in range(4)] == [0, 0, 0, 2]


def test_what_was_not_used_after_all_is_free_again() -> None:
    rate = KeyedLimiter(TokenBucket(2, 0.5))
    rate.undo("a")
    assert [rate.take("a", 100.0) for _ in range(3)] == [0, 0, 2]
    rate.undo("a")
    assert [rate.take("a", 100.0), rate.take("a", 100.0)] == [0, 2]
    for _ in range(2):
        rate.undo("a")
    assert rate.take("a", 100.0) == 0


def test_failures_cost_nothing_at_first_and_then_twice_as_much_each_time() -> None:
    failures = KeyedLimiter(FailureBackoff(10.0, free_failures=2))
    assert failures.wait_s("a", 100.0) == 0
    assert [failures.add("a", 100.0) for _ in range(8)] == [0, 0, 1, 2, 4, 8, 10, 10]
    assert [failures.wait_s("b", 100.0), failures.wait_s("a", 104.0), failures.wait_s("a", 110.0)] == [0, 6, 0]


def test_failures_of_long_ago_are_forgotten() -> None:
    for later, waits in ((59, 20), (60, 0)):
        failures = KeyedLimiter(FailureBackoff(600.0, first_wait_s=10.0, free_failures=1, failure_ttl_s=60.0))
        for _ in range(2):
            failures.add("a", 0.0)
        assert failures.add("a", 10.0 + later) == waits


def test_a_failure_made_good_for_shortens_no_wait_but_the_next() -> None:
    failures = KeyedLimiter(FailureBackoff(600.0, first_wait_s=10.0))
    assert [failures.add("a", 0.0) for _ in range(8)] == [10, 20, 40, 80, 160, 320, 600, 600]
    failures.undo("a")
    failures.undo("b")
    assert (failures.wait_s("a", 599.0), failures.wait_s("b", 599.0)) == (1, 0)
    for _ in range(7):
        failures.undo("a")
    assert (failures.wait_s("a", 0.0), failures.add("a", 0.0)) == (0, 10)


@pytest.mark.parametrize("policy", [TokenBucket(1, 1.0), FailureBackoff(60.0)])
def test_the_keys_used_last_are_remembered(policy: TokenBucket | FailureBackoff) -> None:
    limiter = KeyedLimiter(policy, max_keys=2)
    for key in "abac":
        limiter.take(key, 0.0)
    assert [limiter.wait_s(key, 0.0) for key in "abc"] == [1, 0, 1]
