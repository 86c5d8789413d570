"""The referee, line by line of the protocol: no socket, no sleep, no clock but the numbers given here."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from arena import match as referee
from arena import record as records
from arena.effects import (
    Delayed,
    Expired,
    Forfeited,
    Left,
    Played,
    Ready,
    Record,
    Resigned,
    Returned,
    Show,
    Tell,
    Voided,
)
from arena.match import READY_WITHIN, RETURN_WITHIN, Match, Phase
from arena.record import Begun, Ply, Strike, Void
from protocol.errors import BadRecord
from protocol.messages import End, Error, Rejected, Start, Turn
from referee_table import NONCES, Dibs, Table

pytestmark = pytest.mark.usefixtures("dibs")

A_MOVE = {"heap": 2, "take": 1}


def ended(table: Table) -> list[str]:
    """Why the match is over for each seat; checks that it is, once, and that its record verifies."""
    assert table.match.phase is Phase.OVER
    assert table.finishes == 1
    assert table.deadline is None
    records.verify(table.record())
    return [seat.reason for seat in table.match.result("x").seats]


# Before the first turn


def test_every_seat_is_told_the_start_with_its_seat_and_the_same_commitment() -> None:
    table = Table()
    table.open()
    for seat in table.seats:
        start = table.last(seat)
        assert isinstance(start, Start)
        assert start.seat == seat
        assert start.commitment == table.header.commitment
        assert (start.clock.bank_ms, start.clock.increment_ms) == (60000, 500)
        assert not start.resumed
    assert table.shown == [table.match.start()]
    assert table.shown[0].seat is None
    assert table.deadline == table.now + READY_WITHIN


def test_each_seek_is_answered_by_the_start_that_carries_its_id() -> None:
    table = Table()
    match = Match(table.header, table.match._seed, table.match.players, ["s1", None])
    assert [match.start(seat).seek for seat in (0, 1)] == ["s1", None]
    assert match.start(0, resumed=True).seek is None


def test_the_match_begins_when_every_seat_is_ready_and_the_first_turn_carries_the_nonces() -> None:
    table = Table()
    table.open()
    assert table.send(Ready(1, NONCES[1])) == []
    table.send(Ready(0, NONCES[0]))
    turn = table.last(0)
    assert isinstance(turn, Turn)
    assert (turn.ply, turn.to_move, turn.events) == (0, 0, [])
    assert turn.nonces == [NONCES[0].hex(), ""]
    assert {"heap": 0, "take": 3} in turn.legal
    assert turn.clock == [60000, 60000]
    assert isinstance(table.last(1), Start)


def test_the_first_turn_of_the_other_seat_carries_the_nonces_too_and_later_ones_do_not() -> None:
    table = Table().begin()
    for _ in range(3):
        table.play(A_MOVE)
    assert [turn.nonces is None for turn in table.told[0][1:]] == [False, True]
    assert table.told[1][1].nonces == [NONCES[0].hex(), ""]


def test_ready_said_again_is_no_news_and_does_not_change_the_nonce() -> None:
    table = Table()
    table.open()
    table.send(Ready(0, NONCES[0]))
    assert table.send(Ready(0, b"\x99" * 16)) == []
    table.send(Ready(1, b""))
    assert table.last(0).nonces == [NONCES[0].hex(), ""]
    assert table.send(Ready(0, b"\x99" * 16)) == []


def test_a_move_before_the_match_began_is_not_this_seats_turn() -> None:
    table = Table()
    table.open()
    table.send(Played(0, 0, A_MOVE))
    assert table.last(0).code == "not_your_turn"
    assert table.last(0).strikes_left is None


def test_a_deal_is_told_as_ply_0_with_the_first_turn_at_ply_1() -> None:
    table = Table("nim", {"heaps": [9, 9, 9], "start": "p-position"}).begin()
    turn = table.last(0)
    assert turn.ply == 1
    assert [(event.ply, event.seat) for event in turn.events] == [(0, -1)]
    assert turn.events[0].move == {"heaps": list(turn.state["heaps"])}
    table.play(turn.legal[0])
    assert [event.ply for event in table.last(1).events] == [0, 1]
    ended(table.finish_at_random())


def test_a_seat_that_is_not_ready_in_time_loses_unrated() -> None:
    table = Table(rated=True)
    table.open()
    table.send(Ready(1, b""))
    assert table.deadline == 110
    table.expire()
    assert ended(table) == ["no_show", "win"]
    result = table.match.result("x")
    assert result.reason == "no_show"
    assert not result.rated
    assert [seat.rank for seat in result.seats] == [2, 1]


def test_with_all_seats_absent_the_match_is_void() -> None:
    table = Table(rated=True)
    table.open()
    table.expire()
    assert ended(table) == ["void", "void"]
    assert not table.match.result("x").rated


def test_the_time_to_be_ready_is_not_up_before_it_is() -> None:
    table = Table()
    table.open()
    table.send(Expired(), after=9.9)
    assert table.match.phase is Phase.WAITING
    assert table.deadline == 110


def test_a_delay_of_the_arena_moves_the_time_to_be_ready_by_as_much() -> None:
    table = Table()
    table.open()
    table.send(Delayed(0.5), after=1)
    assert table.deadline == 110.5


def test_a_seat_may_resign_before_the_match_begins() -> None:
    table = Table()
    table.open()
    table.send(Resigned(1))
    assert ended(table) == ["win", "resigned"]


def test_a_seat_that_comes_back_before_the_match_began_is_told_the_start_again() -> None:
    table = Table()
    table.open()
    table.send(Left(0))
    table.send(Returned(0))
    assert table.last(0).resumed
    assert table.last(0).seek is None


# Moves


def test_a_move_is_recorded_before_it_is_told() -> None:
    table = Table().begin()
    effects = table.play(A_MOVE)
    recorded = [type(effect) for effect in effects]
    assert recorded.index(Record) < recorded.index(Tell)
    turn = table.last(1)
    assert turn.events == [table.lines[-1].event]
    assert turn.digest == table.lines[-1].digest


def test_a_turn_tells_all_that_happened_since_this_seats_last_one() -> None:
    table = Table().begin()
    for _ in range(4):
        table.play(A_MOVE)
    assert [[event.ply for event in turn.events] for turn in table.told[0][1:]] == [[], [0, 1], [2, 3]]
    assert [[event.ply for event in turn.events] for turn in table.told[1][1:]] == [[0], [1, 2]]


def test_a_turn_of_a_game_with_too_many_moves_carries_options() -> None:
    table = Table("nim", {"heaps": [600, 600]}).begin()
    turn = table.last(0)
    assert len(turn.legal) == 512
    assert turn.options == {"heaps": [600, 600], "take": None}


def test_a_follower_gets_every_turn_and_legal_only_for_its_own() -> None:
    table = Table()
    table.match.follows.add(1)
    table.begin()
    table.play(A_MOVE)
    mine, after = table.told[1][1:]
    assert (mine.ply, mine.to_move, mine.legal, mine.options) == (0, 0, None, None)
    assert after.legal
    assert [event.ply for event in after.events] == [0]


def test_watchers_get_every_turn_without_legal_and_nonces() -> None:
    table = Table()
    table.match.watched = True
    table.begin()
    table.play(A_MOVE)
    turns = [message for message in table.shown if isinstance(message, Turn)]
    assert [turn.ply for turn in turns] == [0, 1]
    assert all(turn.legal is None and turn.nonces is None for turn in turns)
    assert [event.ply for event in turns[1].events] == [0]


def test_nothing_is_shown_while_nobody_watches() -> None:
    table = Table().begin()
    assert not [effect for effect in table.play(A_MOVE) if isinstance(effect, Show)]


def test_a_late_watcher_sees_the_current_turn_with_all_events_and_nothing_outside_play() -> None:
    table = Table()
    table.open()
    assert table.match.view(table.now) is None
    table.send(Ready(0, b""))
    table.send(Ready(1, b""))
    table.play(A_MOVE)
    table.play(A_MOVE, after=1)
    view = table.match.view(table.now + 2)
    assert [event.ply for event in view.events] == [0, 1]
    assert view.clock == [58500, 59500]
    table.send(Resigned(0))
    assert table.match.view(table.now) is None


@pytest.mark.parametrize(
    ("move", "code"),
    [
        ({"heap": 0, "take": 4}, "illegal_move"),
        ({"heap": 9, "take": 1}, "illegal_move"),
        ({"heap": 0}, "malformed_move"),
        ({"heap": "0", "take": 1}, "malformed_move"),
        ([0, 1], "malformed_move"),
        ("pass", "malformed_move"),
        (None, "malformed_move"),
        ({}, "malformed_move"),
    ],
)
def test_the_third_bad_move_loses(move: Any, code: str) -> None:
    table = Table().begin()
    for left in (2, 1, 0):
        table.play(move, after=1)
        assert [table.last(0).code, table.last(0).strikes_left] == [code, left]
        assert table.last(0).clock_ms == 60000 - 1000 * (3 - left)
        assert table.last(0).message
    assert ended(table) == ["illegal", "win"]
    assert [type(line) for line in table.lines[-4:]] == [Strike, Strike, Strike, Ply]


def test_the_clock_goes_on_after_a_bad_move_and_a_good_one_follows() -> None:
    table = Table().begin()
    table.play(None, after=2)
    table.play(A_MOVE, after=3)
    assert table.last(1).clock == [55500, 60000]


def test_strikes_count_over_the_whole_match() -> None:
    table = Table().begin()
    for _ in range(2):
        table.play(None)
        table.play(A_MOVE)
        table.play(A_MOVE)
    table.play(None)
    assert ended(table) == ["illegal", "win"]


def test_an_identical_repeat_of_an_accepted_move_is_ignored() -> None:
    table = Table().begin()
    table.play(A_MOVE)
    assert table.send(Played(0, 0, dict(A_MOVE))) == []
    table.play(A_MOVE)
    assert table.send(Played(0, 0, dict(A_MOVE))) == []


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (Played(0, 0, {"heap": 1, "take": 1}), "stale_ply"),
        (Played(1, 0, A_MOVE), "stale_ply"),
        (Played(0, 1, A_MOVE), "not_your_turn"),
        (Played(1, 2, A_MOVE), "stale_ply"),
        (Played(1, 10**12, A_MOVE), "stale_ply"),
    ],
)
def test_a_move_that_answers_no_turn_of_this_seat_is_rejected_without_a_strike(event: Played, code: str) -> None:
    table = Table().begin()
    table.play(A_MOVE)
    table.send(event)
    rejected = table.last(event.seat)
    assert (rejected.code, rejected.ply, rejected.strikes_left) == (code, event.ply, None)
    table.play(A_MOVE)
    assert table.ply == 2


def test_a_bad_info_gets_an_error_and_the_move_stands() -> None:
    table = Table().begin()
    table.play(A_MOVE, info={"note": "x" * 257})
    error = table.last(0)
    assert isinstance(error, Error)
    assert error.code == "bad_message"
    assert "note" in error.message
    assert "the move at ply 0 stands" in error.message
    assert table.ply == 1
    assert table.lines[-1].info is None


def test_a_good_info_is_kept_in_the_record() -> None:
    table = Table().begin()
    table.play(A_MOVE, info={"value": 0.5, "depth": 3, "nodes": 7, "note": "hm"})
    assert table.lines[-1].info.note == "hm"
    records.verify(table.finish_at_random().record())


def test_a_match_that_is_played_out_is_won_by_the_rules() -> None:
    table = Table("nim", {"heaps": [1, 1]}, rated=True).begin().finish_at_random()
    assert ended(table) == ["win", "win"]
    result = table.match.result("x")
    assert [seat.rank for seat in result.seats] == [2, 1]
    assert result.rated
    end = table.match.farewell(0)
    assert end.seed == table.match._seed.hex()
    assert [event.ply for event in end.events] == [0, 1]
    assert end.record == "m-1.jsonl.gz"
    assert [event.ply for event in table.match.farewell(1).events] == [1]


def test_a_draw_is_told_as_one() -> None:
    table = Table("tictactoe").begin()
    for cell in (0, 1, 2, 4, 3, 5, 7, 6, 8):
        table.play({"cell": cell})
    assert ended(table) == ["draw", "draw"]
    assert table.match.result("x").reason == "draw"


def test_whatever_comes_after_the_end_changes_nothing() -> None:
    table = Table().begin()
    table.send(Resigned(0))
    told = [len(messages) for messages in table.told]
    for event in (Ready(0, b""), Resigned(1), Left(0), Forfeited(1), Expired(), Delayed(1), Voided()):
        assert table.send(event) == []
    table.send(Played(1, 0, A_MOVE))
    assert table.last(1).code == "no_such_match"
    assert [len(messages) for messages in table.told] == [told[0], told[1] + 1]
    assert ended(table) == ["resigned", "win"]


def test_a_seat_that_comes_back_while_the_result_is_stored_is_told_the_start_before_the_end() -> None:
    table = Table().begin()
    table.send(Left(1))
    table.send(Resigned(0))
    table.send(Returned(1))
    assert isinstance(table.last(1), Start)


# Clocks


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
    assert table.match.phase is Phase.PLAYING
    assert table.deadline == 115


def test_a_move_that_comes_after_the_deadline_but_before_the_time_is_declared_up_counts() -> None:
    table = Table(bank=10).begin()
    table.play(A_MOVE, after=11)
    assert table.last(1).clock == [500, 10000]
    assert table.match.phase is Phase.PLAYING


def test_a_time_declared_up_too_early_asks_again_at_the_deadline() -> None:
    table = Table(bank=10).begin()
    table.send(Expired(), after=9)
    assert table.match.phase is Phase.PLAYING
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


# Leaving and coming back


def test_a_seat_may_resign_on_either_turn() -> None:
    for seat, reasons in ((0, ["resigned", "win"]), (1, ["win", "resigned"])):
        table = Table().begin()
        table.send(Resigned(seat))
        assert ended(table) == reasons
        assert table.lines[-1].event.seat == seat


def test_a_seat_that_is_gone_for_good_loses_at_once() -> None:
    table = Table().begin()
    table.send(Forfeited(1))
    assert ended(table) == ["win", "disconnected"]


def test_a_bot_that_is_gone_for_good_before_the_match_began_has_its_time_to_be_ready() -> None:
    table = Table()
    table.open()
    assert table.send(Forfeited(0)) == []


def test_a_seat_that_comes_back_on_its_turn_is_told_everything_since_its_last_accepted_move() -> None:
    table = Table().begin()
    table.play(A_MOVE)
    table.play(A_MOVE)
    table.send(Left(0))
    table.send(Returned(0), after=3)
    start, turn = table.told[0][-2:]
    assert start.resumed
    assert turn.ply == 2
    assert [event.ply for event in turn.events] == [0, 1]
    assert turn.legal
    assert turn.clock == [57500, 60500]


def test_a_seat_that_comes_back_on_the_others_turn_is_told_the_start_alone() -> None:
    table = Table().begin()
    table.send(Left(1))
    table.send(Returned(1))
    assert isinstance(table.last(1), Start)
    table.play(A_MOVE)
    assert [event.ply for event in table.last(1).events] == [0]


def test_a_follower_that_comes_back_gets_the_current_turn_whoever_is_to_move() -> None:
    table = Table().begin()
    table.play(A_MOVE)
    table.send(Left(0))
    table.match.follows.add(0)
    table.send(Returned(0))
    turn = table.last(0)
    assert (turn.to_move, turn.legal) == (1, None)
    assert [event.ply for event in turn.events] == [0]


@pytest.mark.parametrize("plies", [None, 0, 1, 3])
def test_a_match_can_be_called_off_at_any_time(plies: int | None) -> None:
    table = Table(rated=True)
    table.open() if plies is None else table.begin()
    for _ in range(plies or 0):
        table.play(A_MOVE)
    table.send(Voided())
    assert ended(table) == ["void", "void"]
    result = table.match.result("x")
    assert not result.rated
    assert [seat.rank for seat in result.seats] == [1, 1]
    assert result.plies == (plies or 0)


def test_what_was_not_recorded_is_taken_back_when_the_match_is_called_off() -> None:
    table = Table("nim", {"heaps": [1, 1]}).begin()
    table.play({"heap": 0, "take": 1})
    table.now += 1
    table.match.receive(Played(1, 1, {"heap": 1, "take": 1}), table.now)  # and its effects are lost
    assert table.match.phase is Phase.OVER
    table.send(Voided(undo=True))
    assert ended(table) == ["void", "void"]
    assert table.match.result("x").plies == 1
    assert [event.ply for event in table.match.farewell(1).events] == []


def test_a_beginning_that_was_not_recorded_is_taken_back_too() -> None:
    table = Table("nim", {"heaps": [9, 9, 9], "start": "p-position"})
    table.open()
    table.send(Ready(0, b""))
    table.match.receive(Ready(1, b""), table.now)
    table.send(Voided(undo=True))
    assert ended(table) == ["void", "void"]
    assert table.match.result("x").plies == 0
    assert table.match.farewell(0).events == []


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
    table.send(Resigned(2), after=4)
    assert table.deadline == 110
    table.play({"take": 1}, after=1)
    assert table.lines[-1].clock == [5500, 10000, 10000]
    table.play({"take": 1})
    assert table.to_move == 0
    assert [event.seat for event in table.last(0).events] == [2, 0, 1]


def test_of_three_seats_the_last_one_wins() -> None:
    table = Table("dibs").begin()
    table.send(Resigned(1))
    table.send(Forfeited(1))
    table.send(Played(1, 0, {"take": 1}))
    table.send(Returned(1))
    table.send(Forfeited(2))
    assert ended(table) == ["win", "resigned", "disconnected"]
    assert table.released == [1]
    assert [seat.rank for seat in table.match.result("x").seats] == [1, 3, 2]


@pytest.mark.parametrize("absent", [0, 1, 2])
def test_of_three_seats_one_that_does_not_show_up_leaves_the_others_to_play(absent: int) -> None:
    table = Table("dibs", rated=True)
    table.open()
    for seat in {0, 1, 2} - {absent}:
        table.send(Ready(seat, b""))
    table.expire()
    first = min({0, 1, 2} - {absent})
    assert isinstance(table.last(first), Turn)
    assert table.last(first).events[0].out == "no_show"
    assert table.last(absent).reason == "no_show"
    assert ended(table.finish_at_random())[absent] == "no_show"
    assert not table.match.result("x").rated


def test_of_three_seats_one_that_resigns_early_leaves_the_others_their_time_to_be_ready() -> None:
    table = Table("dibs")
    table.open()
    assert table.send(Resigned(0)) == []
    table.send(Ready(1, b""))
    table.send(Ready(2, b""))
    assert table.last(0).reason == "resigned"
    assert isinstance(table.last(1), Turn)
    assert table.last(1).nonces == ["", "", ""]
    ended(table.finish_at_random())


def test_of_three_seats_two_that_resign_early_end_the_match() -> None:
    table = Table("dibs")
    table.open()
    table.send(Resigned(0))
    table.send(Resigned(2))
    assert ended(table) == ["resigned", "win", "resigned"]


def test_a_match_whose_only_ready_seat_resigned_is_void() -> None:
    table = Table("dibs")
    table.open()
    table.send(Resigned(0))
    table.expire()
    assert ended(table) == ["void"] * 3


def test_of_more_events_than_a_frame_may_hold_the_last_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table("nim", {"heaps": [300]}).begin()
    for _ in range(200):
        table.play({"heap": 0, "take": 1})
    whole = table.match.view(table.now)
    assert whole is not None
    assert whole.events == table.match.events
    monkeypatch.setattr(referee, "MOST_TOLD", len(msgspec.json.encode(whole.events[-100:])))
    view = table.match.view(table.now)
    assert view is not None
    assert len(view.events) >= 100
    assert view.events == table.match.events[-len(view.events) :]
    assert len(msgspec.json.encode(view.events)) <= 1.1 * referee.MOST_TOLD


def test_followers_among_three_get_every_turn_until_they_drop_out() -> None:
    table = Table("dibs")
    table.match.follows |= {1, 2}
    table.begin()
    table.play({"take": 1})
    assert [isinstance(table.last(seat), Turn) for seat in (1, 2)] == [True, True]
    table.send(Resigned(2))
    count = len(table.told[2])
    table.play({"take": 1})
    assert len(table.told[2]) == count


# After a restart


def copy_of(table: Table, cut: int | None = None) -> Table:
    other = Table(header=table.header)
    other.now = 500.0
    return other.resume(table.lines[:cut])


def all_back(table: Table) -> Table:
    for seat in table.seats:
        table.send(Returned(seat))
    return table


def test_after_a_restart_clocks_stand_still_until_every_seat_is_back() -> None:
    table = Table(bank=10).begin()
    table.play(A_MOVE, after=2)
    again = copy_of(table)
    assert again.deadline == 500 + RETURN_WITHIN
    again.send(Returned(1), after=20)
    assert again.last(1).clock == [8500, 10000]
    again.send(Returned(0), after=5)
    assert again.deadline == 525 + 10
    again.play(A_MOVE, after=1)
    assert again.last(0).clock == [8500, 9500]


def test_after_a_restart_a_seat_that_is_back_may_move_before_the_others_are() -> None:
    table = Table(bank=10).begin()
    again = copy_of(table)
    again.send(Returned(0), after=5)
    again.play(A_MOVE, after=3)
    assert again.lines[-1].clock == [10500, 10000]
    assert again.deadline == 530
    again.send(Returned(1), after=4)
    assert again.deadline == 522
    assert again.last(1).ply == 1


def test_after_a_restart_with_one_seat_back_the_clocks_run_in_the_end() -> None:
    again = copy_of(Table(bank=10).begin())
    again.send(Returned(1))
    again.expire()
    assert again.deadline == 540
    again.expire()
    assert ended(again) == ["disconnected", "win"]


def test_after_a_restart_a_seat_that_came_and_went_is_waited_for() -> None:
    again = copy_of(Table(bank=10).begin())
    again.send(Returned(0))
    again.send(Left(0))
    again.send(Returned(1))
    assert again.deadline == 530
    again.send(Delayed(1))
    assert again.deadline == 531


def test_after_a_restart_with_no_seat_back_the_match_is_void() -> None:
    table = Table(rated=True).begin()
    table.play(A_MOVE)
    again = copy_of(table)
    again.send(Expired(), after=29)
    assert again.deadline == 530
    again.expire()
    assert ended(again) == ["void", "void"]


def test_after_a_restart_before_the_match_began_there_is_time_to_be_ready_again() -> None:
    table = Table()
    table.open()
    table.send(Ready(0, b""))
    again = copy_of(table)
    assert again.match.phase is Phase.WAITING
    all_back(again)
    again.send(Ready(0, NONCES[0]))
    again.send(Ready(1, b""))
    assert again.last(0).nonces == [NONCES[0].hex(), ""]
    ended(again.finish_at_random())


def test_after_a_restart_a_seat_may_resign_while_clocks_stand_still() -> None:
    table = Table("dibs", bank=10).begin()
    again = copy_of(table)
    again.send(Returned(0))
    again.send(Returned(1))
    again.send(Resigned(0))
    assert again.deadline == 530
    assert again.last(1).to_move == 1
    again.send(Forfeited(2), after=1)
    assert ended(again) == ["resigned", "win", "disconnected"]


def test_after_a_restart_the_one_seat_that_is_missing_may_drop_out_and_the_clocks_run() -> None:
    again = copy_of(Table("dibs", bank=10).begin())
    again.send(Returned(0))
    again.send(Returned(1))
    again.send(Forfeited(2), after=1)
    assert again.deadline == 511


@pytest.mark.parametrize("void", [False, True])
def test_after_a_restart_a_seat_that_had_dropped_out_is_free(void: bool) -> None:
    table = Table("dibs").begin()
    table.send(Resigned(1))
    if void:
        table.send(Voided())
    assert copy_of(table).released == [1]


@pytest.mark.parametrize("reason", ["resigned", "no_show", "illegal", "void", "played"])
def test_a_match_that_was_over_in_the_journal_finishes_at_once(reason: str) -> None:
    table = Table("nim", {"heaps": [1, 1]}, rated=True)
    table.open()
    if reason == "no_show":
        table.send(Ready(0, b""))
        table.expire()
    else:
        table.begin()
        if reason == "resigned":
            table.send(Resigned(0))
        elif reason == "void":
            table.send(Voided())
        elif reason == "illegal":
            for _ in range(3):
                table.play(None)
        else:
            table.finish_at_random()
    again = copy_of(table)
    assert ended(again) == ended(table)
    assert again.match.result("x") == table.match.result("x")


@pytest.mark.parametrize("game", ["nim", "dibs"])
def test_what_a_crash_cut_off_in_the_middle_of_a_beginning_is_done_after_the_restart(game: str) -> None:
    config = {"heaps": [9, 9, 9], "start": "p-position"} if game == "nim" else {"dealt": True}
    table = Table(game, config, rated=True)
    table.open()
    table.send(Ready(0, b""))
    table.expire()
    begun = next(at for at, line in enumerate(table.lines) if isinstance(line, Begun))
    assert len(table.lines) > begun + 2
    for cut in range(begun + 1, len(table.lines) + 1):
        again = copy_of(table, cut)
        assert again.lines == table.lines
        assert ended(again) == ended(table)
        assert not again.match.result("x").rated


def test_a_third_strike_whose_loss_a_crash_cut_off_loses_after_the_restart() -> None:
    table = Table().begin()
    for _ in range(3):
        table.play(None)
    again = copy_of(table, -1)
    assert again.lines == table.lines
    assert ended(again) == ["illegal", "win"]


def test_a_voided_match_is_void_after_the_restart_though_it_could_not_be_stored() -> None:
    table = Table("nim", {"heaps": [9, 9, 9], "start": "p-position"}).begin()
    table.play(table.last(0).legal[0])
    table.send(Voided())
    assert isinstance(table.lines[-1], Void)
    again = copy_of(table)
    assert ended(again) == ["void", "void"]
    assert again.match.result("x").digest == table.match.result("x").digest


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
        other.resume(table.lines[2:], 0.0)


def test_rules_that_fail_at_the_very_end_leave_the_match_going_to_be_voided(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table("dibs", {"sticks": [1]}).begin()

    def fail(self: Any, state: Any) -> Any:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Dibs, "ranks", fail)
    with pytest.raises(RuntimeError):
        table.play({"take": 1})
    table.send(Voided(undo=True))
    assert ended(table) == ["void"] * 3


def test_a_rejected_move_of_no_one_is_told_to_that_seat_alone() -> None:
    table = Table().begin()
    before = list(table.told[0])
    table.send(Played(1, 0, A_MOVE))
    assert isinstance(table.last(1), Rejected)
    assert table.told[0] == before
