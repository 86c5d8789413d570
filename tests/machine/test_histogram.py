"""Observations counted between bounds."""

from __future__ import annotations

from machine.histogram import Histogram


def test_an_observation_counts_up_to_the_first_bound_that_is_no_less() -> None:
    times = Histogram((0.1, 1.0))
    for seconds in (0.0, 0.1, 0.2, 1.0, 7.0):
        times.observe(seconds)
    assert times.counts == [2, 2, 1]
    assert times.sum == 8.3
