"""The referee, line by line of the protocol: no socket, no sleep, no clock but the numbers given here."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from arena.replay.verify import verify_record
from protocol.messages import Rejected, Start, Turn
from protocol.pools import people_pool
from referee.effects import (
    Abort,
    DeadlineReached,
    Disconnect,
    Forfeit,
    MoveReceived,
    Pause,
    Reconnect,
    Resignation,
    SeatReady,
    SendDelay,
    SendToSeat,
    SendToWatchers,
    WriteLine,
)
from referee.match import Match
from referee.record import Ply, Strike
from referee.state import Phase
from referee_table import A_MOVE, NONCES, Table, ended, header

# Before the first turn


def test_each_seek_is_answered_by_the_start_that_carries_its_id() -> None:
    table = Table()
    match = Match(table.header, table.match._seed, table.match.players, ["s1", None])
    assert [match.start_message(seat).seek for seat in (0, 1)] == ["s1", None]
    assert match.start_message(0, resumed=True).seek is None


def test_the_match_begins_when_every_seat_is_ready_and_the_first_turn_carries_the_nonces() -> None:
    table = Table()
    table.open()
    assert table.send(SeatReady(1, NONCES[1])) == []
    table.send(SeatReady(0, NONCES[0]))
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
    table.send(SeatReady(0, NONCES[0]))
    assert table.send(SeatReady(0, b"\x99" * 16)) == []
    table.send(SeatReady(1, b""))
    assert table.last(0).nonces == [NONCES[0].hex(), ""]
    assert table.send(SeatReady(0, b"\x99" * 16)) == []


def test_a_deal_is_told_as_ply_0_with_the_first_turn_at_ply_1() -> None:
    table = Table("nim", {"heaps": [9, 9, 9], "start": "p-position"}).begin()
    turn = table.last(0)
    assert turn.ply == 1
    assert [(event.ply, event.seat) for event in turn.events] == [(0, -1)]
    assert turn.events[0].move == {"heaps": list(turn.state["heaps"])}
    table.play(turn.legal[0])
    assert [event.ply for event in table.last(1).events] == [0, 1]
    ended(table.finish_at_random())


def test_a_seat_that_is_not_ready_in_time_loses() -> None:
    table = Table(rated=True)
    table.open()
    table.send(SeatReady(1, b""))
    assert table.deadline == 110
    table.expire()
    assert ended(table) == ["no_show", "win"]
    result = table.match.result("x")
    assert (result.reason, result.pool) == ("no_show", "nim/classic")
    assert [seat.rank for seat in result.seats] == [2, 1]


def among_people(game: str = "nim") -> Table:
    """A match that is rated among people, not opened yet."""
    bots = ("ann", "bob", "cas") if game == "dibs" else ("ann", "bob")
    made = header(game, rated=True, bots=bots)
    return Table(game, header=msgspec.structs.replace(made, pool=people_pool(made.pool or "")))


def test_among_people_a_match_is_called_off_where_somebody_never_comes() -> None:
    table = among_people()
    table.open()
    table.send(SeatReady(1, b""))
    table.expire()
    assert ended(table) == ["void", "void"]
    assert table.match.result("x").pool is None
    assert [table.match.standing.was_absent(seat) for seat in (0, 1)] == [True, False]


@pytest.mark.usefixtures("dibs")
def test_among_people_a_match_of_three_is_called_off_only_before_it_begins() -> None:
    early = among_people("dibs")
    early.open()
    early.send(SeatReady(1, b""))
    early.expire()
    assert ended(early) == ["void"] * 3
    late = among_people("dibs").begin()
    late.send(Resignation(late.to_move or 0, failed=True))
    assert "void" not in ended(late.finish_at_random())


@pytest.mark.parametrize(
    "leaves",
    [lambda table: table.expire(), lambda table: table.send(Resignation(0, failed=True))],
    ids=["time", "failed"],
)
def test_among_people_who_leaves_without_a_move_calls_the_match_off_and_who_moved_loses_it(leaves: Any) -> None:
    table = among_people().begin()
    assert table.to_move == 0
    leaves(table)
    assert ended(table) == ["void", "void"]
    assert table.match.standing.was_absent(0)
    table = among_people().begin()
    for _ in range(2):
        table.play(table.last(table.to_move).legal[0])
    assert table.to_move == 0
    leaves(table)
    assert ended(table)[0] in ("timeout", "failed")
    assert table.match.result("x").pool == "nim/classic:people"
    assert not table.match.standing.was_absent(0)


def test_among_people_a_page_that_fails_before_it_is_ready_calls_the_match_off_and_who_resigns_loses_it() -> None:
    failed, resigned = among_people(), among_people()
    for table, event in ((failed, Resignation(1, failed=True)), (resigned, Resignation(1))):
        table.open()
        table.send(event)
    assert ended(failed) == ["void", "void"]
    assert ended(resigned) == ["win", "resigned"]


def test_with_all_seats_absent_the_match_is_void() -> None:
    table = Table(rated=True)
    table.open()
    table.expire()
    assert ended(table) == ["void", "void"]
    assert not table.match.result("x").rated


def test_the_time_to_be_ready_is_not_up_before_it_is() -> None:
    table = Table()
    table.open()
    table.send(DeadlineReached(), after=9.9)
    assert table.match.standing.phase is Phase.WAITING
    assert table.deadline == 110


def test_a_match_that_was_held_gives_as_much_more_time_to_be_ready() -> None:
    table = Table()
    table.open()
    table.send(Pause(0.5), after=1)
    assert table.deadline == 110.5


def test_a_seat_may_resign_before_the_match_begins() -> None:
    table = Table()
    table.open()
    table.send(Resignation(1))
    assert ended(table) == ["win", "resigned"]


def test_a_seat_that_comes_back_before_the_match_began_is_told_the_start_again() -> None:
    table = Table()
    table.open()
    table.send(Disconnect(0))
    table.send(Reconnect(0))
    assert table.last(0).resumed
    assert table.last(0).seek is None


# Moves


def test_a_move_is_recorded_before_it_is_told() -> None:
    table = Table().begin()
    effects = table.play(A_MOVE)
    recorded = [type(effect) for effect in effects]
    assert recorded.index(WriteLine) < recorded.index(SendToSeat)
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
    table.match.add_follower(1)
    table.begin()
    table.play(A_MOVE)
    mine, after = table.told[1][1:]
    assert (mine.ply, mine.to_move, mine.legal, mine.options) == (0, 0, None, None)
    assert after.legal
    assert [event.ply for event in after.events] == [0]


def test_nothing_is_shown_while_nobody_watches() -> None:
    table = Table().begin()
    assert not [effect for effect in table.play(A_MOVE) if isinstance(effect, SendToWatchers)]


def test_a_late_watcher_sees_the_current_turn_with_all_events_and_nothing_outside_play() -> None:
    table = Table()
    table.open()
    assert table.match.spectator_turn(table.now) is None
    table.send(SeatReady(0, b""))
    table.send(SeatReady(1, b""))
    table.play(A_MOVE)
    table.play(A_MOVE, after=1)
    view = table.match.spectator_turn(table.now + 2)
    assert [event.ply for event in view.events] == [0, 1]
    assert view.clock == [58500, 59500]
    table.send(Resignation(0))
    assert table.match.spectator_turn(table.now) is None


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


def test_an_identical_repeat_of_an_accepted_move_is_ignored() -> None:
    table = Table().begin()
    table.play(A_MOVE)
    assert table.send(MoveReceived(0, 0, dict(A_MOVE))) == []
    table.play(A_MOVE)
    assert table.send(MoveReceived(0, 0, dict(A_MOVE))) == []


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (MoveReceived(0, 0, {"heap": 1, "take": 1}), "stale_ply"),
        (MoveReceived(1, 0, A_MOVE), "stale_ply"),
        (MoveReceived(0, 1, A_MOVE), "not_your_turn"),
        (MoveReceived(1, 2, A_MOVE), "stale_ply"),
        (MoveReceived(1, 10**12, A_MOVE), "stale_ply"),
    ],
)
def test_a_move_that_answers_no_turn_of_this_seat_is_rejected_without_a_strike(event: MoveReceived, code: str) -> None:
    table = Table().begin()
    table.play(A_MOVE)
    table.send(event)
    rejected = table.last(event.seat)
    assert (rejected.code, rejected.ply, rejected.strikes_left) == (code, event.ply, None)
    table.play(A_MOVE)
    assert table.ply == 2


def test_a_rejected_move_of_no_one_is_told_to_that_seat_alone() -> None:
    table = Table().begin()
    before = list(table.told[0])
    table.send(MoveReceived(1, 0, A_MOVE))
    assert isinstance(table.last(1), Rejected)
    assert table.told[0] == before


def test_a_good_info_is_kept_in_the_record() -> None:
    table = Table().begin()
    table.play(A_MOVE, info={"value": 0.5, "depth": 3, "nodes": 7, "note": "hm"})
    assert table.lines[-1].info.note == "hm"
    verify_record(table.finish_at_random().record())


@pytest.mark.usefixtures("dibs")
def test_a_match_that_is_played_out_is_won_by_the_rules() -> None:
    table = Table("heaps", {"heaps": [1, 1]}, rated=True).begin().finish_at_random()
    assert ended(table) == ["win", "win"]
    result = table.match.result("x")
    assert [seat.rank for seat in result.seats] == [2, 1]
    assert result.rated
    end = table.match.end_message(0)
    assert end.seed == table.match._seed.hex()
    assert [event.ply for event in end.events] == [0, 1]
    assert end.record == "m-1.jsonl.gz"
    assert [event.ply for event in table.match.end_message(1).events] == [1]


def test_a_draw_is_told_as_one() -> None:
    table = Table("tictactoe").begin()
    for cell in (0, 1, 2, 4, 3, 5, 7, 6, 8):
        table.play({"cell": cell})
    assert ended(table) == ["draw", "draw"]
    assert table.match.result("x").reason == "draw"


def test_whatever_comes_after_the_end_changes_nothing() -> None:
    table = Table().begin()
    table.send(Resignation(0))
    told = [len(messages) for messages in table.told]
    for event in (
        SeatReady(0, b""),
        Resignation(1),
        Disconnect(0),
        Forfeit(1),
        DeadlineReached(),
        SendDelay(1, 99, 101),
        Pause(1),
        Abort(),
    ):
        assert table.send(event) == []
    table.send(MoveReceived(1, 0, A_MOVE))
    assert table.last(1).code == "no_such_match"
    assert [len(messages) for messages in table.told] == [told[0], told[1] + 1]
    assert ended(table) == ["resigned", "win"]
