"""Time banks: what a move costs, what a round trip or a late arena gives back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.referee.clock import TimeBanks

SECONDS = st.floats(0, 100, allow_nan=False)


def test_a_move_costs_its_time_and_earns_the_increment() -> None:
    clock = TimeBanks.new(2, 60, 0.5).start(1, 10).press(13)
    assert clock.banks == (60, 57.5)
    assert clock.running is None
    assert clock.deadline is None


def test_a_running_clock_ends_when_its_bank_does() -> None:
    clock = TimeBanks.new(2, 60, 0.5).start(0, 10)
    assert clock.deadline == 70
    assert clock.left(0, 69) == 1
    assert clock.left(1, 69) == 60
    assert clock.left(0, 80) == 0
    assert clock.milliseconds(69.9996) == [0, 60000]


def test_a_round_trip_is_not_charged_up_to_100_ms_a_ply() -> None:
    clock = TimeBanks.new(2, 60, 0).start(0, 0).press(1, round_trip=0.05).start(0, 1).press(2, round_trip=5)
    assert clock.banks[0] == pytest.approx(60 - 2 + 0.05 + 0.1)


def test_a_round_trip_is_not_charged_up_to_one_second_a_match() -> None:
    clock = TimeBanks.new(2, 60, 0)
    for ply in range(20):
        clock = clock.start(0, ply).press(ply + 1, round_trip=0.1)
    assert clock.banks[0] == pytest.approx(60 - 20 + 1)
    assert clock.allowances == pytest.approx((0, 1))


def test_a_round_trip_gives_back_no_more_than_was_used() -> None:
    clock = TimeBanks.new(2, 60, 0).start(0, 0).press(0.02, round_trip=0.1)
    assert clock.banks[0] == pytest.approx(60)
    assert clock.allowances[0] == pytest.approx(0.98)


def test_a_move_that_is_late_but_looked_at_in_time_leaves_the_increment() -> None:
    assert TimeBanks.new(2, 1, 0.5).start(0, 0).press(1.2).banks == (0.5, 1)


def test_a_clock_at_rest_is_not_pressed_stopped_or_delayed() -> None:
    clock = TimeBanks.new(2, 60, 0.5)
    assert clock.press(5) == clock.stop(5) == clock.delayed(1, 5) == clock


def test_a_stopped_clock_has_taken_the_time_and_given_no_increment() -> None:
    assert TimeBanks.new(2, 60, 0.5).start(0, 10).stop(14).banks == (56, 60)


def test_the_arenas_delay_is_not_charged() -> None:
    clock = TimeBanks.new(2, 60, 0).start(0, 0).delayed(2, 5)
    assert clock.deadline == 62
    assert clock.press(5).banks[0] == 57


def test_a_delay_gives_no_time_that_has_not_passed() -> None:
    clock = TimeBanks.new(2, 60, 0).start(0, 4.9).delayed(2, 5)
    assert clock.left(0, 5) == 60
    assert clock.press(5).banks[0] == 60


@given(SECONDS, SECONDS, SECONDS, SECONDS)
def test_no_sequence_of_times_makes_a_bank_grow_beyond_its_increment(
    used: float, round_trip: float, late: float, bank: float
) -> None:
    clock = TimeBanks.new(2, bank, 0.5).start(0, 7).delayed(late, 7 + used).press(7 + used, round_trip)
    assert 0 <= clock.banks[0] <= bank + 0.5
    assert clock.banks[1] == bank
