"""What concerns one seat of a match leaves the others as they were: followers, strikes, absences, returns."""

from __future__ import annotations

import pytest

from protocol.messages import Start, Turn
from referee.effects import Abort, Forfeit, MoveReceived, NoShow, Reconnect, Resignation, SeatReady, SendToSeat
from referee_table import A_MOVE, Table, ended

BAD = {"heap": 0, "take": 9}


def test_strikes_of_one_seat_are_not_the_others() -> None:
    table = Table().begin()
    table.play(BAD)
    table.play(BAD)
    table.play(A_MOVE)
    table.play(BAD)
    assert table.last(1).strikes_left == 2
    table.play(BAD)
    table.play(A_MOVE)
    table.play(BAD)
    assert ended(table) == ["illegal", "win"]


@pytest.mark.usefixtures("dibs")
def test_every_follower_is_told_every_turn() -> None:
    table = Table("dibs")
    for seat in table.seats:
        table.match.add_follower(seat)
    table.begin()
    table.play({"take": 1})
    for seat in table.seats:
        turn = table.last(seat)
        assert isinstance(turn, Turn)
        assert (turn.ply, turn.clock) == (1, table.banks())


def test_who_comes_back_last_after_a_restart_is_told_the_start_before_the_clock_runs() -> None:
    again = Table(bank=10).begin().restarted(now=100.0)
    again.send(Reconnect(1))
    effects = again.send(Reconnect(0))
    told = [effect.message for effect in effects if isinstance(effect, SendToSeat)]
    assert [type(message) for message in told] == [Start, Turn]


@pytest.mark.usefixtures("dibs")
def test_who_dropped_out_and_comes_back_is_told_no_turn() -> None:
    table = Table("dibs")
    table.match.add_follower(2)
    table.begin()
    table.send(Forfeit(2))
    table.match.add_follower(2)
    effects = table.send(Reconnect(2))
    assert [type(effect.message) for effect in effects if isinstance(effect, SendToSeat)] == [Start]


def test_who_comes_back_when_all_is_over_is_told_no_turn() -> None:
    table = Table().begin()
    table.match.add_follower(0)
    table.send(Resignation(1))
    effects = table.send(Reconnect(0))
    assert [type(effect.message) for effect in effects if isinstance(effect, SendToSeat)] == [Start]


def test_a_move_accepted_before_a_restart_is_no_news_after_it() -> None:
    table = Table().begin()
    table.play(A_MOVE)
    again = table.restarted(now=100.0)
    assert again.send(MoveReceived(0, 0, A_MOVE)) == []


def test_a_deal_is_no_move_of_a_seat_after_a_restart() -> None:
    again = Table("nim", {"heaps": [9, 9, 9], "start": "p-position"}).begin().restarted(now=100.0)
    assert len(again.match.standing.events) == 1
    assert again.match.standing.find_accepted_move(0, 0) is None
    again.send(Reconnect(0))
    assert again.last(0).nonces is not None, "it has not moved yet"


@pytest.mark.usefixtures("dibs")
def test_who_drops_out_is_told_what_happened_since_its_own_last_turn() -> None:
    table = Table("dibs")
    table.match.set_watched(is_watched=True)
    table.begin()
    table.play({"take": 1})
    table.play({"take": 1})
    table.send(Forfeit(1))
    assert [(event.ply, event.seat) for event in table.last(1).events] == [(1, 1), (2, 1)]


@pytest.mark.usefixtures("dibs")
def test_the_last_one_missing_may_resign_and_the_others_clocks_run_at_once() -> None:
    table = Table("dibs", bank=10)
    table.open()
    for seat in (0, 1):
        table.send(SeatReady(seat, b""), after=1)
    table.send(Resignation(2), after=1)
    assert table.deadline == table.now + 10
    assert (table.ply, table.to_move) == (0, 0)


def test_who_has_not_come_back_after_a_restart_is_told_what_followed_its_last_move() -> None:
    table = Table().begin()
    for _ in range(3):
        table.play(A_MOVE)
    again = table.restarted(now=100.0)
    again.send(Reconnect(1))
    again.play(A_MOVE)
    assert [event.ply for event in again.last(0).events] == [2, 3]


def test_a_seat_that_will_not_come_has_lost_before_the_other_one_is_ready() -> None:
    table = Table()
    table.open()
    table.send(NoShow(0))
    result = table.match.result("2026-01-01T00:00:09.000Z")
    assert [(seat.rank, seat.reason) for seat in result.seats] == [(2, "no_show"), (1, "win")]


@pytest.mark.usefixtures("dibs")
def test_of_three_seats_the_two_that_come_play_on_without_the_third() -> None:
    table = Table("dibs")
    table.open()
    table.send(NoShow(1))
    assert not table.match.standing.course
    for seat in (0, 2):
        table.send(SeatReady(seat, b""))
    assert table.match.standing.current_course.dropped_out == {1: "no_show"}
    assert (table.finishes, table.to_move) == (0, 0)


def test_a_seat_that_will_not_come_back_has_lost_its_connection() -> None:
    table = Table().begin()
    table.send(NoShow(1))
    assert [seat.reason for seat in table.match.result("2026-01-01T00:00:09.000Z").seats] == ["win", "disconnected"]


def test_absent_is_who_was_not_heard_of_and_never_moved() -> None:
    standing = Table().match.standing
    assert not standing.was_absent(0)
    table = Table().begin()
    assert not table.match.standing.was_absent(0)
    table.send(Forfeit(0))
    assert [table.match.standing.was_absent(seat) for seat in table.seats] == [True, False]
    moved = Table().begin()
    moved.play(A_MOVE)
    moved.send(Forfeit(0))
    assert not moved.match.standing.was_absent(0)
    resigned = Table().begin()
    resigned.send(Resignation(0))
    assert not resigned.match.standing.was_absent(0)
    void = Table().begin()
    void.send(Forfeit(0))
    void.match.standing.course = void.match.standing.current_course.call_off()
    assert not void.match.standing.was_absent(0)


def test_who_is_in_a_match_to_its_end_stayed() -> None:
    table = Table().begin()
    assert not table.match.standing.stayed_to_end(1)
    table.send(Resignation(0))
    assert [table.match.standing.stayed_to_end(seat) for seat in table.seats] == [False, True]
    void = Table().begin()
    void.send(Abort())
    assert not any(void.match.standing.stayed_to_end(seat) for seat in void.seats)
