"""Waiting before another attempt, and when there is none."""

from __future__ import annotations

import asyncio

import pytest

from machine.backoff import Backoff, Retry
from virtual_time import advance


def test_delays_double_up_to_the_longest_or_stay() -> None:
    backoff = Backoff(0.1, 0.5)
    assert [backoff.next_delay() for _ in range(5)] == pytest.approx([0.1, 0.2, 0.4, 0.5, 0.5])
    steady = Backoff(2.0)
    assert [steady.next_delay() for _ in range(3)] == [2, 2, 2]


def test_jitter_takes_off_up_to_half() -> None:
    assert Backoff(0.1, 5.0, lambda: 0.0).next_delay() == pytest.approx(0.05)


@pytest.mark.parametrize(("failures", "then"), [(2, 0.1), (3, 0.8)])
def test_the_waits_stay_long_where_connections_stand_but_for_a_moment(failures: int, then: float) -> None:
    backoff = Backoff(0.1, 5.0)
    for _ in range(failures):
        backoff.next_delay()
    backoff.reset(0.5)
    assert backoff.next_delay() == pytest.approx(then)


def test_an_attempt_is_given_up_when_it_fails_so_long_after_its_first_failure() -> None:
    told: list[float] = []
    retry = Retry(OSError, Backoff(1.0, 4.0), 10.0, lambda fault, failing_s: told.append(failing_s))
    assert [retry.delay_s(OSError(), now) for now in (100.0, 101.0, 109.0)] == [1, 2, 4]
    with pytest.raises(OSError, match="again"):
        retry.delay_s(OSError("again"), 110.0)
    assert told == [0, 1, 9]


@pytest.mark.virtual_time
async def test_an_attempt_is_repeated_after_each_delay_until_it_succeeds_or_fails_otherwise() -> None:
    failures: list[Exception] = [OSError(), ValueError("no"), OSError()]

    async def attempt() -> str:
        if failures:
            raise failures.pop(0)
        return "done"

    for ends in ("no", "done"):
        trying = asyncio.create_task(Retry(OSError, Backoff(1.0)).run(attempt))
        await advance(0.9)
        assert not trying.done()
        await advance(0.1)
        assert str(trying.exception() or trying.result()) == ends
