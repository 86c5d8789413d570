"""Seats that leave a match and come back, matches that are called off, and what is left where three play."""

from __future__ import annotations

import pytest

from protocol.messages import End, Start, Turn
from referee.effects import Abort, Disconnect, Forfeit, MoveReceived, Reconnect, Resignation, SeatReady
from referee_table import A_MOVE, Table, ended

pytestmark = pytest.mark.usefixtures("dibs")


def test_a_seat_may_resign_on_either_turn() -> None:
    for seat, reasons in ((0, ["resigned", "win"]), (1, ["win", "resigned"])):
        table = Table().begin()
        table.send(Resignation(seat))
        assert ended(table) == reasons
        assert table.lines[-1].event.seat == seat


def test_a_seat_that_is_gone_for_good_loses_at_once() -> None:
    table = Table().begin()
    table.send(Forfeit(1))
    assert ended(table) == ["win", "disconnected"]


def test_a_bot_that_is_gone_for_good_before_the_match_began_has_its_time_to_be_ready() -> None:
    table = Table()
    table.open()
    assert table.send(Forfeit(0)) == []


def test_a_seat_that_comes_back_on_its_turn_is_told_everything_since_its_last_accepted_move() -> None:
    table = Table().begin()
    table.play(A_MOVE)
    table.play(A_MOVE)
    table.send(Disconnect(0))
    table.send(Reconnect(0), after=3)
    start, turn = table.told[0][-2:]
    assert start.resumed
    assert turn.ply == 2
    assert [event.ply for event in turn.events] == [0, 1]
    assert turn.legal
    assert turn.clock == [57500, 60500]
    table.play(A_MOVE)
    for _ in range(2):
        table.send(Disconnect(1))
        table.send(Reconnect(1))
        assert [event.ply for event in table.last(1).events] == [1, 2]


def test_a_seat_that_comes_back_on_the_others_turn_is_told_the_start_alone() -> None:
    table = Table().begin()
    table.send(Disconnect(1))
    table.send(Reconnect(1))
    assert isinstance(table.last(1), Start)
    table.play(A_MOVE)
    assert [event.ply for event in table.last(1).events] == [0]


def test_a_follower_that_comes_back_gets_the_current_turn_whoever_is_to_move() -> None:
    table = Table().begin()
    table.play(A_MOVE)
    table.send(Disconnect(0))
    table.match.add_follower(0)
    table.send(Reconnect(0))
    turn = table.last(0)
    assert (turn.to_move, turn.legal) == (1, None)
    assert [event.ply for event in turn.events] == [0]


@pytest.mark.parametrize("plies", [None, 0, 1, 3])
def test_a_match_can_be_called_off_at_any_time(plies: int | None) -> None:
    table = Table(rated=True)
    table.open() if plies is None else table.begin()
    for _ in range(plies or 0):
        table.play(A_MOVE)
    table.send(Abort())
    assert ended(table) == ["void", "void"]
    result = table.match.result("x")
    assert not result.rated
    assert [seat.rank for seat in result.seats] == [1, 1]
    assert result.plies == (plies or 0)


# More than two seats


def test_of_three_seats_only_the_offender_drops_out_and_is_told_its_end_without_the_seed() -> None:
    table = Table("dibs", bank=10).begin()
    table.expire()
    end = table.last(0)
    assert isinstance(end, End)
    assert end.reason == "timeout"
    assert end.seed is None
    assert end.ranks == [3, 1, 1]
    assert [event.out for event in end.events] == ["timeout"]
    assert table.released == [0]
    assert isinstance(table.last(1), Turn)
    assert [(event.ply, event.out) for event in table.last(1).events] == [(0, "timeout")]
    assert (table.ply, table.to_move, table.deadline) == (0, 1, 120)
    ended(table.finish_at_random())
    assert table.match.result("x").seats[0].rank == 3
    assert (table.last(0), table.released) == (end, [0])


def test_of_three_seats_one_that_leaves_out_of_turn_does_not_touch_the_clock_of_the_mover() -> None:
    table = Table("dibs", bank=10).begin()
    table.send(Resignation(2), after=4)
    assert table.deadline == 110
    table.play({"take": 1}, after=1)
    assert table.lines[-1].clock == [5500, 10000, 10000]
    table.play({"take": 1})
    assert table.to_move == 0
    assert [event.seat for event in table.last(0).events] == [2, 0, 1]


def test_of_three_seats_the_last_one_wins() -> None:
    table = Table("dibs").begin()
    table.send(Resignation(1))
    table.send(Forfeit(1))
    table.send(MoveReceived(1, 0, {"take": 1}))
    table.send(Reconnect(1))
    table.send(Forfeit(2))
    assert ended(table) == ["win", "resigned", "disconnected"]
    assert table.released == [1]
    assert [seat.rank for seat in table.match.result("x").seats] == [1, 3, 2]


@pytest.mark.parametrize("absent", [0, 1, 2])
def test_of_three_seats_one_that_does_not_show_up_leaves_the_others_to_play(absent: int) -> None:
    table = Table("dibs", rated=True)
    table.open()
    for seat in {0, 1, 2} - {absent}:
        table.send(SeatReady(seat, b""))
    table.expire()
    first = min({0, 1, 2} - {absent})
    assert isinstance(table.last(first), Turn)
    assert table.last(first).events[0].out == "no_show"
    assert table.last(absent).reason == "no_show"
    assert ended(table.finish_at_random())[absent] == "no_show"
    assert table.match.result("x").pool == "dibs/classic"


def test_of_three_seats_one_that_resigns_early_leaves_the_others_their_time_to_be_ready() -> None:
    table = Table("dibs")
    table.open()
    assert table.send(Resignation(0)) == []
    table.send(SeatReady(1, b""))
    table.send(SeatReady(2, b""))
    assert table.last(0).reason == "resigned"
    assert isinstance(table.last(1), Turn)
    assert table.last(1).nonces == ["", "", ""]
    ended(table.finish_at_random())


def test_of_three_seats_two_that_resign_early_end_the_match() -> None:
    table = Table("dibs")
    table.open()
    table.send(Resignation(0))
    table.send(Resignation(2))
    assert ended(table) == ["resigned", "win", "resigned"]


def test_a_match_whose_only_ready_seat_resigned_is_void() -> None:
    table = Table("dibs")
    table.open()
    table.send(Resignation(0))
    table.expire()
    assert ended(table) == ["void"] * 3


def test_followers_among_three_get_every_turn_until_they_drop_out() -> None:
    table = Table("dibs")
    table.match.add_follower(1)
    table.match.add_follower(2)
    table.begin()
    table.play({"take": 1})
    assert [isinstance(table.last(seat), Turn) for seat in (1, 2)] == [True, True]
    table.send(Resignation(2))
    count = len(table.told[2])
    table.play({"take": 1})
    assert len(table.told[2]) == count
