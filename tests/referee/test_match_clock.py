"""The referee's clocks: what a move costs, and what happens when a bank ends."""

from __future__ import annotations

import pytest

from referee.effects import DeadlineReached, Disconnect, Pause, Reconnect, Resignation, SendDelay, SetDeadline
from referee.record import write_line
from referee.state import Phase
from referee_table import A_MOVE, Table, ended

pytestmark = pytest.mark.usefixtures("dibs")


def test_the_clock_runs_from_the_turn_to_the_move_less_the_round_trip() -> None:
    table = Table().begin()
    table.play(A_MOVE, after=2, round_trip_s=0.04)
    assert table.last(1).clock == [58540, 60000]
    table.play(A_MOVE, after=3, round_trip_s=7.0)
    assert table.last(0).clock == [58540, 57600]
    assert [line.given for line in table.lines[-2:]] == [40, 100]


def test_a_seat_that_thinks_too_long_loses_by_timeout() -> None:
    table = Table(bank=10).begin()
    assert table.deadline == 110
    table.expire()
    assert ended(table) == ["timeout", "win"]
    assert table.lines[-1].event.out == "timeout"
    assert table.lines[-1].clock == [0, 10000]


def test_a_seat_that_came_back_in_time_and_still_thinks_too_long_loses_by_timeout() -> None:
    table = Table(bank=10).begin()
    table.send(Disconnect(0), after=1)
    table.send(Reconnect(0), after=1)
    assert table.deadline == 110
    table.expire()
    assert ended(table) == ["timeout", "win"]


def test_a_move_that_nobody_knows_the_arrival_of_counts_until_the_time_is_declared_up() -> None:
    table = Table(bank=10).begin()
    table.play(A_MOVE, after=11)
    assert table.last(1).clock == [500, 10000]
    assert table.match.standing.phase is Phase.PLAYING


def test_a_move_that_arrived_in_time_counts_however_long_it_was_not_read() -> None:
    table = Table(bank=10).begin()
    table.play(A_MOVE, after=75, waited_s=65.0)
    assert table.last(1).clock == [500, 10000]
    assert table.lines[-1].given == 100


@pytest.mark.parametrize("waited", [0.0, 64.999])
def test_a_move_that_arrived_after_the_banks_end_is_too_late_though_the_time_was_not_declared_up(waited: float) -> None:
    table = Table(bank=10).begin()
    table.play(A_MOVE, after=75, waited_s=waited)
    assert ended(table) == ["timeout", "win"]


def test_a_time_declared_up_too_early_asks_again_at_the_deadline() -> None:
    table = Table(bank=10).begin()
    table.send(DeadlineReached(), after=9)
    assert table.match.standing.phase is Phase.PLAYING
    assert table.deadline == 110


def test_a_seat_that_thinks_while_the_arena_is_held_up_gains_nothing() -> None:
    table = Table(bank=60).begin()
    table.play(A_MOVE, after=30, waited_s=0.0)
    assert table.last(1).clock == [30500, 60000]
    assert table.lines[-1].given == 0


def test_a_move_that_waited_to_be_read_is_given_the_time_back_and_the_record_says_so() -> None:
    table = Table(bank=60).begin()
    table.play(A_MOVE, after=5, waited_s=0.25)
    assert table.last(1).clock == [55750, 60000]
    assert table.lines[-1].given == 250
    assert b'"given":250' in write_line(table.lines[-1])
    table.play(A_MOVE, after=1, waited_s=0.0)
    assert b"given" not in write_line(table.lines[-1])


def test_a_turn_that_could_not_be_written_moves_the_deadline() -> None:
    table = Table(bank=60).begin()
    table.now += 0.5
    assert table.send(SendDelay(0, 99, 100.5)) == [SetDeadline(160.5)]
    table.play(A_MOVE, after=1)
    assert table.last(1).clock == [59500, 60000]
    assert table.lines[-1].given == 500


def test_what_was_written_late_to_who_is_not_to_move_is_no_matter() -> None:
    table = Table(bank=60).begin()
    assert table.send(SendDelay(1, 99, 100.5)) == []
    table.play(A_MOVE, after=1)
    assert table.lines[-1].given == 0


def test_what_a_seat_was_given_back_is_in_the_line_of_whatever_ends_its_turn() -> None:
    table = Table("dibs", bank=60).begin()
    table.send(SendDelay(0, 99, 100.25), after=1)
    table.send(Resignation(2))
    assert (table.lines[-1].event.out, table.lines[-1].given) == ("resigned", 250)
    table.send(SendDelay(0, 100, 101.25), after=1)
    table.expire()
    assert (table.lines[-1].event.out, table.lines[-1].given) == ("timeout", 250)
    assert ended(table) == ["timeout", "win", "resigned"]


def test_what_was_given_back_before_a_restart_is_not_given_again() -> None:
    table = Table("dibs", bank=60).begin()
    table.send(SendDelay(0, 99, 100.25), after=1)
    table.send(Resignation(1))
    table.play({"take": 1}, after=3, waited_s=0.125)
    table.play({"take": 1}, after=3, waited_s=9.0)
    again = table.restarted(now=100.0)
    assert again.match.standing.clock.compensated_ms == (375, 0, 600)
    assert again.banks() == table.banks()
    for seat in (0, 2):
        again.send(Reconnect(seat))
    again.play({"take": 1}, after=3, waited_s=1.0)
    again.play({"take": 1}, after=3, waited_s=1.0)
    assert [line.given for line in again.lines[-2:]] == [225, 0]
    again.finish_at_random()
    assert "resigned" in ended(again)


def test_the_clock_stands_while_a_match_is_held() -> None:
    table = Table(bank=10).begin()
    table.send(Pause(4), after=5)
    assert table.deadline == 114
    table.play(A_MOVE, after=1)
    assert table.last(1).clock == [8500, 10000]
    assert table.lines[-1].given == 0


def test_a_turn_that_began_while_the_match_was_held_gains_nothing() -> None:
    table = Table(bank=10).begin()
    table.send(Pause(4), after=1)
    table.play(A_MOVE, after=1)
    assert table.last(1).clock == [9500, 10000]
