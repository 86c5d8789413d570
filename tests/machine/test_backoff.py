"""Waiting before connecting again."""

from __future__ import annotations

import pytest

from bots.client.connection import FIRST_DELAY, LONGEST_DELAY
from machine.backoff import Backoff


def test_delays_double_up_to_five_seconds() -> None:
    backoff = Backoff(FIRST_DELAY, LONGEST_DELAY)
    assert [backoff.delay() for _ in range(8)] == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0])


def test_jitter_takes_off_up_to_half() -> None:
    assert Backoff(FIRST_DELAY, LONGEST_DELAY, lambda: 0.0).delay() == pytest.approx(0.05)


def test_a_connection_that_stood_begins_anew() -> None:
    backoff = Backoff(FIRST_DELAY, LONGEST_DELAY)
    backoff.delay()
    backoff.delay()
    backoff.reset(0.5)
    assert backoff.delay() == pytest.approx(0.1)


def test_the_waits_stay_long_where_connections_stand_but_for_a_moment() -> None:
    backoff = Backoff(FIRST_DELAY, LONGEST_DELAY)
    for _ in range(3):
        backoff.delay()
    backoff.reset(0.5)
    assert backoff.delay() == pytest.approx(0.8)
