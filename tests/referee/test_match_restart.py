"""A match that goes on from its journal, wherever the journal was cut."""

from __future__ import annotations

import pytest

from protocol.errors import BadRecord
from referee.effects import (
    Abort,
    DeadlineReached,
    Disconnect,
    Forfeit,
    Pause,
    Reconnect,
    Resignation,
    SeatReady,
    SendDelay,
)
from referee.match import Match, MatchTimeouts
from referee.record import Begun, Strike
from referee.state import Phase
from referee_table import A_MOVE, NONCES, Table, ended

pytestmark = pytest.mark.usefixtures("dibs")


def test_after_a_restart_clocks_stand_still_until_every_seat_is_back() -> None:
    table = Table(bank=10).begin()
    table.play(A_MOVE, after=2)
    again = table.restarted(now=500.0)
    assert again.deadline == 500 + MatchTimeouts().return_timeout_s
    again.send(Reconnect(1), after=20)
    assert again.last(1).clock == [8500, 10000]
    again.send(Reconnect(0), after=5)
    assert again.deadline == 525 + 10
    again.play(A_MOVE, after=1)
    assert again.last(0).clock == [8500, 9500]


def test_after_a_restart_a_seat_that_is_back_may_move_before_the_others_are() -> None:
    table = Table(bank=10).begin()
    again = table.restarted(now=500.0)
    again.send(Reconnect(0), after=5)
    again.play(A_MOVE, after=3)
    assert again.lines[-1].clock == [10500, 10000]
    assert again.deadline == 530
    again.send(Reconnect(1), after=4)
    assert again.deadline == 522
    assert again.last(1).ply == 1


def test_after_a_restart_with_one_seat_back_the_clocks_run_in_the_end() -> None:
    again = Table(bank=10).begin().restarted(now=500.0)
    again.send(Reconnect(1))
    again.expire()
    assert again.deadline == 540
    again.expire()
    assert ended(again) == ["disconnected", "win"]


def test_after_a_restart_a_seat_that_came_and_went_is_waited_for() -> None:
    again = Table(bank=10).begin().restarted(now=500.0)
    again.send(Reconnect(0))
    again.send(Disconnect(0))
    again.send(Reconnect(1))
    assert again.deadline == 530
    assert again.send(SendDelay(0, 499, 501)) == []
    again.send(Pause(1))
    assert again.deadline == 531


def test_after_a_restart_with_no_seat_back_the_match_is_void() -> None:
    table = Table(rated=True).begin()
    table.play(A_MOVE)
    again = table.restarted(now=500.0)
    again.send(DeadlineReached(), after=29)
    assert again.deadline == 530
    again.expire()
    assert ended(again) == ["void", "void"]


def test_after_a_restart_before_the_match_began_there_is_time_to_be_ready_again() -> None:
    table = Table()
    table.open()
    table.send(SeatReady(0, b""))
    again = table.restarted(now=500.0)
    assert again.match.standing.phase is Phase.WAITING
    again.return_all()
    again.send(SeatReady(0, NONCES[0]))
    again.send(SeatReady(1, b""))
    assert again.last(0).nonces == [NONCES[0].hex(), ""]
    ended(again.finish_at_random())


def test_after_a_restart_a_seat_may_resign_while_clocks_stand_still() -> None:
    table = Table("dibs", bank=10).begin()
    again = table.restarted(now=500.0)
    again.send(Reconnect(0))
    again.send(Reconnect(1))
    again.send(Resignation(0))
    assert again.deadline == 530
    assert again.last(1).to_move == 1
    again.send(Forfeit(2), after=1)
    assert ended(again) == ["resigned", "win", "disconnected"]


def test_after_a_restart_the_one_seat_that_is_missing_may_drop_out_and_the_clocks_run() -> None:
    again = Table("dibs", bank=10).begin().restarted(now=500.0)
    again.send(Reconnect(0))
    again.send(Reconnect(1))
    again.send(Forfeit(2), after=1)
    assert again.deadline == 511


@pytest.mark.parametrize("void", [False, True])
def test_after_a_restart_a_seat_that_had_dropped_out_is_free(void: bool) -> None:
    table = Table("dibs").begin()
    table.send(Resignation(1))
    if void:
        table.send(Abort())
    assert table.restarted(now=500.0).released == [1]


@pytest.mark.parametrize("reason", ["resigned", "no_show", "illegal", "void", "played"])
def test_a_match_that_was_over_in_the_journal_finishes_at_once(reason: str) -> None:
    table = Table("heaps", {"heaps": [1, 1]}, rated=True)
    table.open()
    if reason == "no_show":
        table.send(SeatReady(0, b""))
        table.expire()
    else:
        table.begin()
        if reason == "resigned":
            table.send(Resignation(0))
        elif reason == "void":
            table.send(Abort())
        elif reason == "illegal":
            for _ in range(3):
                table.play(None)
        else:
            table.finish_at_random()
    again = table.restarted(now=500.0)
    assert ended(again) == ended(table)
    assert again.match.result("x") == table.match.result("x")
    assert again.released == table.released


@pytest.mark.parametrize("game", ["heaps", "dibs"])
def test_what_a_crash_cut_off_in_the_middle_of_a_beginning_is_done_after_the_restart(game: str) -> None:
    config = {"heaps": [9, 9, 9], "start": "p-position"} if game == "heaps" else {"sticks": [15], "dealt": True}
    table = Table(game, config, rated=True)
    table.open()
    table.send(SeatReady(0, b""))
    table.expire()
    begun = next(at for at, line in enumerate(table.lines) if isinstance(line, Begun))
    assert len(table.lines) > begun + 2
    for cut in range(begun + 1, len(table.lines) + 1):
        again = table.restarted(cut, now=500.0)
        assert again.lines == table.lines
        assert ended(again) == ended(table)
        assert again.match.result("x") == table.match.result("x")


def test_a_third_strike_whose_loss_a_crash_cut_off_loses_after_the_restart() -> None:
    table = Table().begin()
    for _ in range(3):
        table.play(None)
    again = table.restarted(-1, now=500.0)
    assert again.lines == table.lines
    assert ended(again) == ["illegal", "win"]


def test_a_restart_between_a_strike_and_the_next_event_leaves_the_record_as_it_would_have_been() -> None:
    whole = Table("dibs").begin()
    whole.play(A_MOVE)
    whole.play(None)
    again = whole.restarted(now=500.0).return_all()
    for table in (whole, again):
        table.play(A_MOVE)
    assert again.lines[-1].event == whole.lines[-1].event
    assert again.lines[-1].event.strikes == [0, 0, 0]
    digests = [table.finish_at_random().match.result("x").digest for table in (whole, again)]
    assert digests[0] == digests[1]


def test_a_journal_that_does_not_follow_from_the_rules_is_refused() -> None:
    table = Table().begin()
    table.play(A_MOVE)
    table.play(A_MOVE)
    secret, head, begun, first, second = table.lines
    for lines in (
        [secret, head, first],
        [secret, head, begun, second],
        [secret, head, begun, first, first],
        [secret, head, begun, Strike(ply=0, seat=1, code="illegal_move", message="x")],
        [secret, head, Begun(nonces=[""]), first],
        [secret, head, Begun(nonces=["", ""]), first],
    ):
        with pytest.raises(BadRecord, match=r"^m-1: "):
            Table(header=table.header).resume(lines)


def test_the_seed_of_another_match_is_refused() -> None:
    table = Table().begin()
    other = Match(table.header, b"x" * 32, table.match.players)
    with pytest.raises(BadRecord, match="commitment"):
        other.load_journal(table.lines[2:])
