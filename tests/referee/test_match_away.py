"""A seat whose connection is away for too long drops out, whatever is left in its bank."""

from __future__ import annotations

import pytest

from referee.effects import Disconnect, Pause, Reconnect, RunnerLost, SeatReady
from referee.match import MatchTimeouts
from referee.record import write_line
from referee.state import Phase
from referee_table import A_MOVE, Table, ended

pytestmark = pytest.mark.usefixtures("dibs")


def table_of(game: str = "nim") -> Table:
    return Table(game, bank=600, away=60).begin()


@pytest.mark.parametrize("seat", [0, 1], ids=["whose turn it is", "whose turn it is not"])
def test_a_seat_that_is_away_for_too_long_loses_by_disconnected(seat: int) -> None:
    table = table_of()
    table.send(Disconnect(seat), after=5)
    assert table.deadline == 165
    table.expire()
    assert ended(table)[seat] == "disconnected"
    assert ended(table)[1 - seat] == "win"
    assert table.lines[-1].clock[0] == 535_000, "the clock of whose turn it was is what it was"


def test_how_long_a_seat_may_be_away_is_told_at_the_start_and_recorded() -> None:
    table = table_of()
    assert table.told[0][0].away_ms == table.header.away_ms == 60_000
    assert b'"away_ms":60000' in write_line(table.header)


def test_every_absence_begins_anew() -> None:
    table = table_of()
    table.send(Disconnect(0), after=5)
    table.send(Reconnect(0), after=50)
    table.expire()
    assert table.match.standing.phase is Phase.PLAYING
    assert table.deadline == 700
    table.send(Disconnect(0), after=5)
    assert table.deadline == 165 + 5 + 60


def test_a_connection_that_is_lost_twice_is_away_since_the_first_time() -> None:
    table = table_of()
    table.send(Disconnect(0), after=5)
    table.send(Disconnect(0), after=20)
    assert table.deadline == 165


def test_a_bank_that_ends_before_is_the_end() -> None:
    table = Table(bank=10, away=60).begin()
    table.send(Disconnect(0), after=1)
    assert table.deadline == 110
    table.expire()
    assert ended(table) == ["disconnected", "win"]


def test_the_other_seat_may_move_meanwhile() -> None:
    table = table_of()
    table.send(Disconnect(1), after=5)
    table.play(A_MOVE, after=10)
    assert table.match.standing.phase is Phase.PLAYING
    assert table.deadline == 165
    table.expire()
    assert ended(table) == ["win", "disconnected"]


def test_of_two_that_are_away_who_went_first_loses() -> None:
    table = table_of()
    table.send(Disconnect(1), after=5)
    table.send(Disconnect(0), after=5)
    assert table.deadline == 165
    table.expire()
    assert ended(table) == ["win", "disconnected"]


def test_time_for_which_a_match_is_held_is_no_absence() -> None:
    table = table_of()
    table.send(Disconnect(0), after=5)
    table.send(Pause(30.0), after=35)
    assert table.deadline == 195


def test_after_the_loss_of_a_runner_no_clock_runs_until_the_seat_is_back() -> None:
    table = table_of()
    table.send(RunnerLost(0), after=5)
    assert table.deadline == 105 + MatchTimeouts().return_timeout_s
    table.send(Disconnect(0), after=1)
    table.send(Reconnect(0), after=20)
    table.play(A_MOVE)
    assert table.lines[-1].clock[0] == 595_500, "5 s are off, and the increment is due"


def test_a_seat_whose_runner_is_lost_before_the_match_begins_has_the_time_to_return() -> None:
    table = Table()
    table.open()
    table.send(SeatReady(0, b""), after=5)
    table.send(RunnerLost(1), after=1)
    assert table.deadline == table.now + MatchTimeouts().return_timeout_s
    table.send(Reconnect(1), after=20)
    table.send(SeatReady(1, b""))
    assert table.match.standing.phase is Phase.PLAYING


def test_a_seat_that_is_not_back_after_the_loss_of_its_runner_loses_by_its_absence() -> None:
    table = table_of()
    table.send(RunnerLost(0), after=5)
    table.expire()
    table.expire()
    assert ended(table) == ["disconnected", "win"]


def test_after_a_restart_absences_are_counted_from_it_and_nobody_is_out_before_the_time_to_return() -> None:
    table = table_of()
    table.send(Disconnect(0), after=5)
    again = table.restarted(now=1000.0)
    assert again.deadline == 1000 + MatchTimeouts().return_timeout_s
    again.send(Reconnect(1), after=10)
    again.expire()
    assert again.deadline == 1060
    again.expire()
    assert ended(again) == ["disconnected", "win"]


def test_of_more_than_two_seats_the_others_play_on() -> None:
    table = table_of("dibs")
    table.send(Disconnect(2), after=5)
    table.expire()
    assert table.match.standing.phase is Phase.PLAYING
    assert table.released == [2]
    assert table.deadline == 700
    assert table.restarted(now=1000.0).match.standing.current_course.dropped_out == {2: "disconnected"}


def test_without_a_bound_a_seat_may_be_away_as_long_as_its_clock_lasts() -> None:
    table = Table(bank=600).begin()
    assert table.send(Disconnect(0), after=5) == []
    assert table.deadline == 700
