"""Waiting before connecting again."""

from __future__ import annotations

import pytest

from bots.client.timeouts import ClientTimeouts
from machine.backoff import Backoff

TIMEOUTS = ClientTimeouts()


def test_delays_double_up_to_five_seconds() -> None:
    backoff = Backoff(TIMEOUTS.first_retry_delay_s, TIMEOUTS.max_retry_delay_s)
    assert [backoff.next_delay() for _ in range(8)] == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0])


def test_jitter_takes_off_up_to_half() -> None:
    assert Backoff(TIMEOUTS.first_retry_delay_s, TIMEOUTS.max_retry_delay_s, lambda: 0.0).next_delay() == pytest.approx(
        0.05
    )


def test_a_connection_that_stood_begins_anew() -> None:
    backoff = Backoff(TIMEOUTS.first_retry_delay_s, TIMEOUTS.max_retry_delay_s)
    backoff.next_delay()
    backoff.next_delay()
    backoff.reset(0.5)
    assert backoff.next_delay() == pytest.approx(0.1)


def test_the_waits_stay_long_where_connections_stand_but_for_a_moment() -> None:
    backoff = Backoff(TIMEOUTS.first_retry_delay_s, TIMEOUTS.max_retry_delay_s)
    for _ in range(3):
        backoff.next_delay()
    backoff.reset(0.5)
    assert backoff.next_delay() == pytest.approx(0.8)
