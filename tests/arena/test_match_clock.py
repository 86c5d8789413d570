"""The referee's clocks: what a move costs, and what happens when a bank ends."""

from __future__ import annotations

from arena.referee.effects import Delayed, Expired, Left, Returned
from arena.referee.standing import Phase
from referee_table import A_MOVE, Table, ended


def test_the_clock_runs_from_the_turn_to_the_move_less_the_round_trip() -> None:
    table = Table().begin()
    table.play(A_MOVE, after=2, round_trip=0.04)
    assert table.last(1).clock == [58540, 60000]
    table.play(A_MOVE, after=3, round_trip=7.0)
    assert table.last(0).clock == [58540, 57600]


def test_a_seat_that_thinks_too_long_loses_by_timeout() -> None:
    table = Table(bank=10).begin()
    assert table.deadline == 110
    table.expire()
    assert ended(table) == ["timeout", "win"]
    assert table.lines[-1].event.out == "timeout"
    assert table.lines[-1].clock == [0, 10000]


def test_a_seat_that_is_away_when_its_bank_ends_loses_by_disconnected() -> None:
    table = Table(bank=10).begin()
    assert table.send(Left(0), after=1) == []
    assert table.deadline == 110
    table.expire()
    assert ended(table) == ["disconnected", "win"]


def test_a_seat_that_came_back_in_time_and_still_thinks_too_long_loses_by_timeout() -> None:
    table = Table(bank=10).begin()
    table.send(Left(0), after=1)
    table.send(Returned(0), after=1)
    assert table.deadline == 110
    table.expire()
    assert ended(table) == ["timeout", "win"]


def test_a_seat_may_be_away_while_the_other_thinks() -> None:
    table = Table(bank=10).begin()
    table.send(Left(1))
    table.play(A_MOVE, after=5)
    assert table.match.standing.phase is Phase.PLAYING
    assert table.deadline == 115


def test_a_move_that_comes_after_the_deadline_but_before_the_time_is_declared_up_counts() -> None:
    table = Table(bank=10).begin()
    table.play(A_MOVE, after=11)
    assert table.last(1).clock == [500, 10000]
    assert table.match.standing.phase is Phase.PLAYING


def test_a_time_declared_up_too_early_asks_again_at_the_deadline() -> None:
    table = Table(bank=10).begin()
    table.send(Expired(), after=9)
    assert table.match.standing.phase is Phase.PLAYING
    assert table.deadline == 110


def test_the_arenas_own_delay_is_not_charged() -> None:
    table = Table(bank=10).begin()
    table.send(Delayed(4), after=5)
    assert table.deadline == 114
    table.play(A_MOVE, after=1)
    assert table.last(1).clock == [8500, 10000]


def test_a_turn_told_during_the_delay_gains_nothing_from_it() -> None:
    table = Table(bank=10).begin()
    table.send(Delayed(4), after=1)
    table.play(A_MOVE, after=1)
    assert table.last(1).clock == [9500, 10000]
