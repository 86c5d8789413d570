"""Time banks as they are shown and as they rest: whole milliseconds of every seat, nothing of the turn that is over."""

from __future__ import annotations

import pytest

from referee.clock import TimeBanks


def test_the_running_bank_is_shown_as_of_now() -> None:
    clock = TimeBanks.new(3, 60_000, 500).start(1, 10)
    assert clock.milliseconds_left(10) == [60_000, 60_000, 60_000]
    assert clock.milliseconds_left(12.25) == [60_000, 57_750, 60_000]


@pytest.mark.parametrize("now", [13, 80])
def test_a_clock_is_shown_in_milliseconds_that_are_really_left(now: float) -> None:
    clock = TimeBanks((60.0009, 60), 0, 600, (0, 0)).start(0, 10)
    assert clock.milliseconds_left(now) == [max(0, 60_000 - 1000 * (int(now) - 10)), 60_000]


def test_a_clock_at_rest_keeps_nothing_of_the_turn_that_is_over() -> None:
    clock = TimeBanks.new(2, 60_000, 500)
    assert clock.start(1, 10).press(1, 13) == TimeBanks((60, 57.5), 0.5, 600, (0, 0))
    stopped = clock.start(1, 10).stop(13)
    assert (stopped.running, stopped.deadline) == ({}, None)
    assert stopped.seconds_left(1, 99) == 57
