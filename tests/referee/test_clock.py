"""Time banks: what a move costs, and what a seat is given back because the arena or the network was late."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.clock import TimeBanks, max_compensation_ms

SECONDS = st.floats(0, 100, allow_nan=False)


def started(bank_ms: int = 60_000, increment_ms: int = 0, seat: int = 0) -> TimeBanks:
    """A clock that runs since second 0."""
    return TimeBanks.new(2, bank_ms, increment_ms).start(seat, 0)


def test_a_move_costs_its_time_and_earns_the_increment() -> None:
    clock = TimeBanks.new(2, 60_000, 500).start(1, 10).press(1, 13)
    assert clock == TimeBanks((60, 57.5), 0.5, 600, (0, 0))
    assert (clock.running, clock.deadline) == ({}, None)


def test_a_running_clock_ends_when_its_bank_does() -> None:
    clock = TimeBanks.new(2, 60_000, 500).start(0, 10)
    assert clock.deadline == 70
    assert clock.seconds_left(0, 69) == 1
    assert clock.seconds_left(1, 69) == 60
    assert clock.seconds_left(0, 80) == 0
    assert clock.milliseconds_left(69.9996) == [0, 60000]


@pytest.mark.parametrize("now", [13, 80])
def test_a_clock_is_shown_in_milliseconds_that_are_really_left(now: float) -> None:
    clock = TimeBanks((60.0009, 60), 0, 600, (0, 0)).start(0, 10)
    assert clock.milliseconds_left(now) == [max(0, 60_000 - 1000 * (int(now) - 10)), 60_000]
    assert TimeBanks.new(3, 60_000, 500).start(1, 10).milliseconds_left(12.25) == [60_000, 57_750, 60_000]


def test_banks_that_were_shown_are_shown_again() -> None:
    clock = TimeBanks.new(2, 0, 0)
    assert all(clock.with_milliseconds([ms, ms]).milliseconds_left(0) == [ms, ms] for ms in range(20_000))


def test_what_arrives_after_the_banks_end_is_too_late() -> None:
    clock = TimeBanks.new(2, 60_000, 500).start(0, 10)
    assert not clock.is_late(0, 70)
    assert clock.is_late(0, 70.001)
    assert not clock.press(0, 13).is_late(0, 99)


def test_a_seat_is_given_back_one_percent_of_its_bank_at_most() -> None:
    assert [max_compensation_ms(bank) for bank in (60_000, 10_000, 150, 99)] == [600, 100, 1, 0]
    assert TimeBanks.new(3, 60_000, 500) == TimeBanks((60, 60, 60), 0.5, 600, (0, 0, 0))


def test_the_time_that_a_move_waited_to_be_read_is_given_back() -> None:
    clock = started().press(0, 5, waited_s=0.25)
    assert clock.banks_s == (55.25, 60)
    assert clock.compensated_ms == (250, 0)
    again = clock.start(0, 10).press(0, 11, waited_s=0.125)
    assert (again.banks_s[0], again.compensated_ms) == (54.375, (375, 0))


def test_no_more_is_given_back_than_the_match_allows_a_seat() -> None:
    clock = started(seat=1).press(1, 5, waited_s=4)
    assert clock.banks_s == pytest.approx((60, 55.6))
    assert clock.compensated_ms == (0, 600)
    clock = clock.start(1, 10).press(1, 15, waited_s=4, round_trip_s=0.1)
    assert clock.banks_s == pytest.approx((60, 50.6))
    assert clock.compensated_ms == (0, 600)
    assert clock.start(0, 15).press(0, 16, waited_s=0.5).compensated_ms == (500, 600)


def test_a_wait_gives_back_no_more_than_was_used() -> None:
    assert started().press(0, 0.25, waited_s=0.5) == TimeBanks((60, 60), 0, 600, (250, 0))


def test_a_wait_of_less_than_a_tick_of_the_kernel_is_not_given_back() -> None:
    assert started().press(0, 5, waited_s=0.0099).compensated_ms == (0, 0)
    assert started().press(0, 5, waited_s=0.01).compensated_ms == (10, 0)
    assert started().press(0, 5, waited_s=0.0099, round_trip_s=0.004).compensated_ms == (4, 0)


def test_whole_milliseconds_are_given_back() -> None:
    clock = started().press(0, 1, waited_s=0.0129, round_trip_s=0.0019)
    assert clock.compensated_ms == (13, 0)
    assert clock.banks_s[0] == 60 - (1 - 0.013)
    assert started().press(0, 1, round_trip_s=0.0009) == started().press(0, 1)
    assert started().press(0, 1, round_trip_s=0.001).compensated_ms == (1, 0)


def test_a_millisecond_is_a_thousandth() -> None:
    long = 1_000_000
    assert started(long).press(0, 3, waited_s=1.5).compensated_ms == (1500, 0)
    assert started(long).press(0, 2, waited_s=1.996, round_trip_s=0.1).compensated_ms == (2000, 0)
    assert started(long).press(0, 2, round_trip_s=0.09995).compensated_ms == (99, 0)
    assert started(long).delay_start(0, -1, 2.5).compensated_ms == (2500, 0)
    assert started(300).press(0, 1, round_trip_s=0.1).compensated_ms == (1, 0)


def test_a_round_trip_is_given_back_up_to_100_ms_a_ply() -> None:
    clock = started().press(0, 1, round_trip_s=0.0625).start(0, 1).press(0, 2, round_trip_s=5)
    assert clock.compensated_ms == (162, 0)
    assert clock.banks_s[0] == pytest.approx(60 - 2 + 0.162)


def test_round_trips_leave_half_of_what_a_seat_may_be_given_back_to_waits() -> None:
    clock = TimeBanks.new(2, 60_000, 0)
    for ply in range(5):
        clock = clock.start(0, ply).press(0, ply + 1, round_trip_s=0.0875)
    assert clock.compensated_ms == (300, 0)
    assert clock.banks_s[0] == pytest.approx(60 - 5 + 0.3)
    assert clock.start(0, 20).press(0, 30, waited_s=0.25, round_trip_s=0.05).compensated_ms == (550, 0)
    assert started().press(0, 1, waited_s=0.25, round_trip_s=0.1).compensated_ms == (300, 0)


def test_a_round_trip_gives_back_no_more_than_was_used() -> None:
    assert started().press(0, 0.02, round_trip_s=0.1) == TimeBanks((60, 60), 0, 600, (20, 0))
    assert started().press(0, 0.1875, waited_s=0.125, round_trip_s=0.1).compensated_ms == (187, 0)


def test_a_move_that_is_looked_at_late_leaves_the_increment() -> None:
    assert started(1000, 500).press(0, 1.2).banks_s == (0.5, 1)


def test_a_clock_at_rest_is_not_pressed_stopped_or_delayed() -> None:
    clock = TimeBanks.new(2, 60_000, 500)
    assert clock.press(0, 5, 1) == clock.stop(5) == clock.delay_start(0, -1, 5) == clock


def test_a_stopped_clock_has_taken_the_time_and_given_no_increment() -> None:
    stopped = TimeBanks.new(2, 60_000, 500).start(0, 10).stop(14)
    assert (stopped.banks_s, stopped.running, stopped.deadline) == ((56, 60), {}, None)
    assert stopped.seconds_left(0, 99) == 56


def test_a_turn_that_was_written_late_began_when_it_was_written() -> None:
    clock = TimeBanks.new(2, 60_000, 0).start(1, 10).delay_start(1, sent_after=9, written_at=10.25)
    assert clock.deadline == 70.25
    assert clock.compensated_ms == (0, 250)
    assert clock.press(1, 15) == TimeBanks((60, 55.25), 0, 600, (0, 250))
    assert clock.delay_start(1, sent_after=10.125, written_at=10.5).press(1, 15, waited_s=1).compensated_ms == (0, 600)


def test_a_delay_is_given_back_in_whole_milliseconds_and_as_far_as_the_match_allows() -> None:
    assert started(1000).delay_start(0, -1, 0.0059) == TimeBanks((1, 1), 0, 10, (5, 0), {0: 0.005})
    clock = started(1000).delay_start(0, -1, 0.008).press(0, 1).start(0, 2).delay_start(0, 1, 3)
    assert (clock.running, clock.compensated_ms) == ({0: 2.002}, (10, 0))


@pytest.mark.parametrize(("seat", "after", "until"), [(1, 9, 12), (0, 10, 12), (0, 11, 12), (0, 9, 10), (0, 8, 9)])
def test_a_delay_of_another_seat_or_of_another_time_is_not_given_back(seat: int, after: float, until: float) -> None:
    clock = TimeBanks.new(2, 60_000, 0).start(0, 10)
    assert clock.delay_start(seat, after, until) == clock


def test_a_clock_that_stood_gives_no_time_that_has_not_passed() -> None:
    clock = started().shift(2, 5)
    assert clock.deadline == 62
    assert clock.press(0, 5) == TimeBanks((57, 60), 0, 600, (0, 0))
    clock = TimeBanks.new(2, 60_000, 0).start(0, 4.5).shift(2, 5)
    assert clock.seconds_left(0, 5) == 60
    assert clock.shift(-1, 6) == clock
    assert clock.stop(5).shift(2, 6) == clock.stop(5)


def test_what_was_given_before_a_restart_counts() -> None:
    clock = TimeBanks.new(2, 60_000, 0).add_compensation(1, 400).add_compensation(1, 100)
    assert clock == TimeBanks((60, 60), 0, 600, (0, 500))
    assert clock.start(1, 0).press(1, 1, waited_s=0.5).compensated_ms == (0, 600)


A_TURN = st.tuples(*[st.floats(0, 3)] * 4, st.floats(0, 0.5))


@pytest.mark.no_cover
@given(st.integers(0, 20_000), st.lists(A_TURN, max_size=12))
def test_no_stall_and_no_delay_gains_more_than_the_clock_says_it_gave_back(
    bank_ms: int, turns: list[tuple[float, ...]]
) -> None:
    """A turn is queued, written some time later, thought about, sent, and read some time after that."""
    clock, now, thought, charged = TimeBanks.new(2, bank_ms, 0), 0.0, 0.0, 0.0
    for unwritten, thinking, unread, claimed, round_trip in turns:
        clock = clock.start(0, now)
        clock = clock.delay_start(0, now - 1, now + unwritten)
        arrived = now + unwritten + thinking
        if clock.is_late(0, arrived):
            break
        before = clock.banks_s[0]
        clock = clock.press(0, arrived + unread, min(unread, claimed), round_trip)
        thought += thinking
        charged += before - clock.banks_s[0]
        now = arrived + unread
        assert thought - charged <= clock.compensated_ms[0] / 1000 + 1e-6
    assert clock.compensated_ms[0] <= bank_ms / 100
    assert clock.compensated_ms[1] == 0


@given(SECONDS, SECONDS, SECONDS, SECONDS, st.integers(0, 100_000))
def test_no_sequence_of_times_makes_a_bank_grow_beyond_its_increment(
    used: float, round_trip: float, waited: float, late: float, bank_ms: int
) -> None:
    clock = TimeBanks.new(2, bank_ms, 500).start(0, 7).delay_start(0, 6, min(7 + late, 7 + used))
    clock = clock.press(0, 7 + used, waited, round_trip)
    assert 0 <= clock.banks_s[0] <= bank_ms / 1000 + 0.5
    assert clock.banks_s[1] == bank_ms / 1000
