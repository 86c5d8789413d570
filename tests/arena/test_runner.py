"""A match under way with its timer, journal and peers, on a real event loop; peers are lists of messages."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import uvloop

from arena.host.broadcast import EncodedMessages
from match_room import Friend, Room
from protocol.messages import End, Error, FromServer, Rejected, Start, Turn
from referee.effects import Abort, Effect, Forfeit, MoveReceived, Pause, Resignation, SendToWatchers
from referee.record import Ply
from referee.state import Phase
from referee_table import A_MOVE, Dibs
from timeouts import WITHIN

pytestmark = pytest.mark.usefixtures("dibs")


async def test_a_match_is_journaled_told_and_finished_once(tmp_path: Path) -> None:
    room = Room(tmp_path, "nim", {"heaps": [1, 1]}).begin()
    assert isinstance(room.friends[0].told[0], Start)
    room.play({"heap": 0, "take": 1})
    turn = await room.friends[1].until(Turn)
    assert turn.events == [room.journal.read("m-1")[-1].event]
    room.play({"heap": 1, "take": 1})
    ends = await room.end()
    assert [end.reason for end in ends] == ["win", "win"]
    assert ends[0].seed == ends[1].seed
    room.runner.stop()


async def test_what_is_told_is_in_the_journal_before(tmp_path: Path) -> None:
    room = Room(tmp_path)
    seen: list[int] = []

    class Reader(Friend):
        def send(self, message: FromServer) -> None:
            if isinstance(message, Turn):
                recorded = [line.event for line in room.journal.read("m-1") if isinstance(line, Ply)]
                assert recorded[-len(message.events) :] == message.events or not message.events
                seen.append(message.ply)

    for seat in (0, 1):
        room.runner.seat_peer(seat, Reader(), follow=True)
    room.begin()
    for _ in range(4):
        room.play()
    assert seen == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    room.runner.stop()


async def test_seats_that_follow_are_shown_one_turn_which_is_encoded_once(tmp_path: Path) -> None:
    room = Room(tmp_path, "dibs")
    shown: list[tuple[int, EncodedMessages]] = []

    class Follower(Friend):
        def __init__(self, seat: int) -> None:
            super().__init__()
            self.seat = seat

        def send_shared(self, told: EncodedMessages) -> None:
            shown.append((self.seat, told))
            super().send_shared(told)

    for seat in range(3):
        room.runner.seat_peer(seat, Follower(seat), follow=True)
    room.begin()
    shown.clear()
    for _ in range(2):
        room.play({"take": 1})
    seats = [seat for seat, _ in shown]
    assert [sorted(seats[:2]), sorted(seats[2:])] == [[0, 2], [0, 1]]
    assert shown[2][1] is shown[3][1], "each of the two has moved, and was told the same so far"
    assert all(message.legal is None for _, told in shown for message in told.messages if isinstance(message, Turn))
    room.runner.stop()


def test_a_bank_too_short_for_uvloop_to_know_its_timer_ends_too(tmp_path: Path) -> None:
    async def lose_by_time() -> list[End]:
        return await Room(tmp_path, bank=0.001, increment=0).begin().end()

    for _ in range(20):  # uvloop has no `when()` for a timer due within half a millisecond
        ends = uvloop.run(lose_by_time())
        assert [end.reason for end in ends] == ["timeout", "timeout"]


async def test_the_deadline_of_a_later_ply_is_kept_by_the_timer_of_an_earlier_one(tmp_path: Path) -> None:
    room = Room(tmp_path, bank=0.08, increment=0.02).begin()
    timer = room.runner._timer
    for _ in range(4):
        room.play()
    assert room.runner._timer is timer is not None, "it is not armed again at every ply"
    ends = await room.end()
    assert [seat.reason for seat in ends[0].seats] == ["timeout", "win"]
    assert len(room.journal.read("m-1")) == 3 + 4 + 1


async def test_a_move_that_had_arrived_before_the_deadline_is_looked_at_before_the_time_is_declared_up(
    tmp_path: Path,
) -> None:
    reader, writer = await pipe()
    room = Room(tmp_path, bank=0.3, increment=10).begin()

    async def listen() -> None:
        await reader.readexactly(1)
        room.play()

    listening = asyncio.create_task(listen())
    await asyncio.sleep(0)
    writer.write(b"m")  # it lies in the socket while the loop is held up beyond the deadline
    time.sleep(0.35)  # noqa: ASYNC251
    await listening
    assert room.match.standing.phase is Phase.PLAYING
    assert (await room.friends[1].until(Turn)).ply == 1
    writer.close()
    room.runner.stop()


async def pipe() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Both ends of a socket: what is written at one end is read at the other."""
    import socket

    here, there = socket.socketpair()
    reader, held = await asyncio.open_connection(sock=here)
    _, writer = await asyncio.open_connection(sock=there)
    reader.held = held  # type: ignore[attr-defined]
    return reader, writer


async def test_a_connection_that_is_lost_and_comes_back_is_told_where_the_match_stands(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    older = room.friends[0]
    room.runner.remove_peer(0, older)
    newer = Friend()
    room.runner.return_seat(0, newer, follow=True)
    room.runner.remove_peer(0, older)  # news of the older connection's end, late
    assert [type(message) for message in newer.told] == [Start, Turn]
    assert newer.told[0].resumed
    room.play()
    assert newer.told[-1].to_move == 1
    room.runner.stop()


async def test_a_seat_that_is_forfeited_loses(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.runner.remove_peer(1, room.friends[1])
    room.runner.receive(Forfeit(1))
    room.runner.seat_peer(1, room.friends[1], follow=False)
    assert [seat.reason for seat in (await room.end())[0].seats] == ["win", "disconnected"]


async def test_a_watcher_sees_the_turn_as_it_is_then_every_turn_then_the_end(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.play()
    watcher, news, gone = Friend(), Friend(), Friend()
    reported: list[FromServer] = []
    room.runner.watch(watcher)
    room.runner.report_to(reported.append)
    room.runner.audience.broadcaster.subscribers[news] = None
    room.runner.watch(gone)
    room.runner.unwatch(gone)
    room.play()
    room.runner.receive(Resignation(0))
    await room.end()
    await watcher.until(End)
    assert [type(message) for message in watcher.told] == [Start, Turn, Turn]
    assert [type(message) for message in reported] == [Turn, End]
    assert [type(message) for message in news.told] == [End]
    assert [type(message) for message in gone.told] == [Start, Turn]
    assert all(message.legal is None for message in watcher.told[1:3])


async def test_a_watcher_that_asks_again_at_once_is_told_once_that_it_watches_already(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    watcher = Friend()
    for _ in range(9):
        room.runner.watch(watcher)
    assert [type(message) for message in watcher.told] == [Start, Turn, Error]
    room.runner.unwatch(watcher)
    room.runner.watch(watcher)
    assert [type(message) for message in watcher.told[3:]] == [Start, Turn]
    room.runner.stop()


async def test_newcomers_are_shown_the_same_view_until_the_next_ply(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    friends = [Friend() for _ in range(3)]
    room.runner.watch(friends[0])
    room.runner.watch(friends[1])
    room.play()
    room.runner.watch(friends[2])
    assert friends[0].told[1] is friends[1].told[1]
    assert (friends[0].told[1].ply, friends[2].told[1].ply) == (0, 1)  # type: ignore[attr-defined]
    room.runner.stop()


async def test_a_watcher_before_the_first_turn_sees_the_start_alone(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.runner.start()
    watcher = Friend()
    room.runner.watch(watcher)
    assert [type(message) for message in watcher.told] == [Start]
    room.runner.stop()


async def test_who_follows_all_matches_hears_of_start_and_end_once_whether_it_watches_this_one_or_not(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path)
    both, back, gone = Friend(), Friend(), Friend()
    for friend in (both, back, gone):
        room.runner.audience.broadcaster.subscribers[friend] = None
    room.runner.audience.broadcaster.subscribers.pop(gone)
    room.begin()
    for friend in (both, back, gone):
        room.runner.watch(friend)
    room.runner.unwatch(back)
    room.runner.unwatch(gone)
    room.runner.receive(Resignation(0))
    await room.end()
    await back.until(End)
    assert [type(message) for message in both.told] == [Start, Start, Turn, End]
    assert [type(message) for message in back.told] == [Start, Start, Turn]
    assert [type(message) for message in gone.told] == [Start, Turn]


async def test_no_turn_is_made_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(tmp_path)
    shown: list[bool] = []
    receive = room.match.receive

    def observed(*args: Any) -> list[Effect]:
        effects = receive(*args)
        shown.append(any(isinstance(effect, SendToWatchers) for effect in effects))
        return effects

    monkeypatch.setattr(room.match, "receive", observed)
    room.runner.audience.broadcaster.subscribers[Friend()] = None
    room.begin()
    first, second = Friend(), Friend()
    room.runner.watch(first)
    room.runner.watch(second)
    room.play()
    room.runner.unwatch(first)
    room.play()
    room.runner.unwatch(second)
    room.play()
    assert shown == [False, False, True, True, False]
    room.runner.stop()


@pytest.mark.parametrize("fails", ["apply", "legal_moves_for_turn", "encode_state", "to_move", "ranks", "remove_seat"])
async def test_rules_that_fail_void_the_match_and_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fails: str
) -> None:
    room = Room(tmp_path, "dibs", {"sticks": [6]}).begin()
    room.play({"take": 1})
    original = getattr(Dibs, fails)
    monkeypatch.setattr(Dibs, fails, Mock(side_effect=RuntimeError("a bug in the rules")))
    if fails == "remove_seat":
        room.runner.receive(Resignation(2))
    else:
        for _ in range(6):
            if room.finishes == 0:
                room.play({"take": 1})
    monkeypatch.setattr(Dibs, fails, original)
    ends = await room.end()
    assert [end.reason for end in ends] == ["void"] * 3
    assert "match m-1 is void: internal error while handling " in caplog.text
    assert "a bug in the rules" in caplog.text


async def test_a_failure_while_the_last_effects_are_carried_out_ends_the_match_all_the_same(tmp_path: Path) -> None:
    room = Room(tmp_path, "dibs")
    room.runner._release = Mock(side_effect=RuntimeError("a bug in the handler"))
    room.runner.start()
    room.runner.receive(Resignation(0))
    room.runner.receive(Resignation(1))
    await asyncio.wait_for(room.finished.wait(), WITHIN)
    assert room.finishes == 1


async def test_rules_that_can_not_even_begin_void_the_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(tmp_path, "dibs")
    monkeypatch.setattr(Dibs, "initial", Mock(side_effect=RuntimeError("a bug in the rules")))
    room.begin()
    assert [end.reason for end in await room.end()] == ["void"] * 3


async def test_a_peer_that_fails_is_its_own_trouble_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Friend):
        def send(self, message: FromServer) -> None:
            raise ConnectionError("gone")

    room = Room(tmp_path)
    room.runner.seat_peer(0, Broken(), follow=False)
    room.begin()
    room.play()
    assert (await room.friends[1].until(Turn)).ply == 1
    assert "match m-1: a turn could not be sent" in caplog.text
    room.runner.stop()


async def test_turns_are_made_for_who_reports_a_match_whoever_stops_watching_it(tmp_path: Path) -> None:
    room = Room(tmp_path)
    reported: list[FromServer] = []
    room.runner.report_to(reported.append)
    room.begin()
    watcher = Friend()
    room.runner.watch(watcher)
    assert room.runner.make_listing().watchers == 1
    room.runner.unwatch(watcher)
    room.play()
    assert [type(message) for message in reported] == [Start, Turn, Turn]
    room.runner.stop()


async def test_a_fault_after_the_end_does_not_end_the_match_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    room = Room(tmp_path).begin()
    room.runner.receive(Resignation(0))
    monkeypatch.setattr(room.match, "receive", Mock(side_effect=RuntimeError("a bug")))
    room.play()
    assert room.finishes == 1
    assert "a bug" in caplog.text


async def test_a_runner_that_was_stopped_hears_no_more_and_leaves_the_journal_as_it_is(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.play()
    before = room.journal.read("m-1")
    room.runner.stop()
    room.play()
    room.runner.receive(Abort())
    assert room.finishes == 0
    assert room.journal.read("m-1") == before
    assert room.runner._timer is None


async def test_a_move_after_the_end_is_rejected_even_while_the_result_is_stored(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.runner.receive(Resignation(0))
    room.runner.stop()
    room.play()
    assert (await room.friends[0].until(Rejected)).code == "no_such_match"


async def test_a_match_goes_on_from_its_journal_with_the_seats_that_are_here_already(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.play()
    room.runner.stop()
    again = room.made(room.journal.reopen("m-1"))
    early = Friend()
    again.seat_peer(1, early, follow=False)
    again.resume(room.match.load_journal(room.journal.read("m-1")[2:]))
    assert [type(message) for message in early.told] == [Start, Turn]
    late = Friend()
    again.return_seat(0, late, follow=False)
    again.receive(MoveReceived(1, 1, A_MOVE))
    assert late.told[-1].ply == 2
    room.runner = again
    room.friends = [late, early]
    again.receive(Resignation(0))
    assert [end.reason for end in await room.end()] == ["resigned", "resigned"]


async def test_a_deadline_that_moved_is_waited_for(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    room = Room(tmp_path, bank=0.05, increment=0).begin()
    while loop.time() < began + 0.03:
        pass  # the loop stands, as it did while the match was held
    room.runner.receive(Pause(0.03))
    await room.end()
    assert loop.time() - began >= 0.08
