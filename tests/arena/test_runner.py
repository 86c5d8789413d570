"""A match under way with its timer, journal and peers, on a real event loop; peers are lists of messages."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest
import uvloop

from arena.referee import reading
from arena.referee.effects import Effect, Forfeited, Held, Played, Readied, Resigned, Show, Voided
from arena.referee.match import Match
from arena.referee.record import Ply, Void
from arena.referee.standing import Phase
from arena.replay.verify import verify
from arena.server import runner
from arena.server.holding import MOST_KEPT
from arena.server.journal import Journal, JournalFault
from arena.server.peer import Shown
from arena.server.runner import Runner
from patience import WITHIN
from protocol.errors import BadRecord
from protocol.messages import End, Error, FromServer, Rejected, Start, Turn
from referee_table import A_MOVE, NONCES, Dibs, Table, header

pytestmark = pytest.mark.usefixtures("dibs", "impatient")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be recorded is tried again at once."""
    monkeypatch.setattr(runner, "TRY_AGAIN", 0.02)


class Friend:
    """A peer that remembers what it was told, and can be waited for."""

    def __init__(self) -> None:
        self.told: list[FromServer] = []
        self._news = asyncio.Event()

    def send(self, message: FromServer) -> None:
        self.told.append(message)
        self._news.set()

    def show(self, shown: Shown) -> None:
        for message in shown.messages:
            self.send(message)

    async def until(self, kind: type[FromServer]) -> Any:
        """The next message of a kind that has not been looked at."""
        async with asyncio.timeout(WITHIN):
            while True:
                for at, message in enumerate(self.told):
                    if isinstance(message, kind):
                        return self.told.pop(at)
                self._news.clear()
                await self._news.wait()


class Room:
    """A runner with two seats taken, and what became of it."""

    def __init__(self, folder: Path, game: str = "nim", config: Any = None, **more: Any) -> None:
        bots = ("ann", "bob", "cas") if game == "dibs" else ("ann", "bob")
        self.header = header(game, config, bots=bots, **more)
        self.journal = Journal(folder)
        self.finished = asyncio.Event()
        self.finishes = 0
        self.held: list[str | None] = []
        self.tried = asyncio.Event()
        self.runner = self.made(self.journal.begin("m-1"))
        self.friends = [Friend() for _ in bots]
        for seat, friend in enumerate(self.friends):
            self.runner.sit(seat, friend, follow=False)

    def made(self, journal: Any) -> Runner:
        self.match = Match(self.header, Table(header=self.header).match._seed, Table(header=self.header).match.players)
        return Runner(self.match, journal, self.finish, held=self.hold)

    def hold(self, runner: Runner, reason: str | None) -> None:
        self.held.append(reason)
        self.tried.set()

    def finish(self, runner: Runner) -> None:
        self.finishes += 1
        self.finished.set()

    def begin(self) -> Room:
        self.runner.open()
        for seat in range(len(self.friends)):
            self.runner.receive(Readied(seat, NONCES[seat]))
        return self

    def play(self, move: Any = None) -> None:
        course = self.match.standing.course
        self.runner.receive(Played(course.to_move, course.ply, move or A_MOVE))

    async def end(self) -> list[End]:
        """Wait for the end, tell it, and check what the journal holds."""
        async with asyncio.timeout(WITHIN):
            await self.finished.wait()
        assert self.finishes == 1
        self.runner.farewell(None)
        verify(reading.read(self.runner.record(self.runner.result("x"), None), "m-1"))
        return [await friend.until(End) for friend in self.friends]


def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", fail)


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
        room.runner.sit(seat, Reader(), follow=True)
    room.begin()
    for _ in range(4):
        room.play()
    assert seen == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    room.runner.stop()


async def test_a_seat_that_does_not_answer_loses_when_its_bank_ends(tmp_path: Path) -> None:
    began = asyncio.get_running_loop().time()
    ends = await Room(tmp_path, bank=0.05, increment=0).begin().end()
    assert [end.reason for end in ends] == ["timeout", "timeout"]
    assert [seat.reason for seat in ends[0].seats] == ["timeout", "win"]
    assert asyncio.get_running_loop().time() - began >= 0.05


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
    assert room.runner._timer is not None
    assert timer is not None
    ends = await room.end()
    assert [seat.reason for seat in ends[0].seats] == ["timeout", "win"]
    assert len(room.journal.read("m-1")) == 3 + 4 + 1


async def test_a_timer_is_not_armed_again_at_every_ply(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.play()
    timer = room.runner._timer
    for _ in range(4):
        room.play()
    assert room.runner._timer is timer
    room.runner.stop()


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
    room.runner.lose(0, older)
    newer = Friend()
    room.runner.come_back(0, newer, follow=True)
    room.runner.lose(0, older)  # news of the older connection's end, late
    assert [type(message) for message in newer.told] == [Start, Turn]
    assert newer.told[0].resumed
    room.play()
    assert newer.told[-1].to_move == 1
    room.runner.stop()


async def test_a_seat_that_is_forfeited_loses(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.runner.lose(1, room.friends[1])
    room.runner.forfeit(1)
    room.runner.sit(1, room.friends[1], follow=False)
    assert [seat.reason for seat in (await room.end())[0].seats] == ["win", "disconnected"]


async def test_a_watcher_sees_the_turn_as_it_is_then_every_turn_then_the_end(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.play()
    watcher, quiet, news, gone = Friend(), Friend(), Friend(), Friend()
    room.runner.watch(watcher)
    room.runner.watch_quietly(quiet)
    room.runner.subscribe(news)
    room.runner.watch(gone)
    room.runner.unwatch(gone)
    room.play()
    room.runner.receive(Resigned(0))
    await room.end()
    await watcher.until(End)
    assert [type(message) for message in watcher.told] == [Start, Turn, Turn]
    assert [type(message) for message in quiet.told] == [Turn, End]
    assert [type(message) for message in news.told] == [End]
    assert [type(message) for message in gone.told] == [Start, Turn]
    assert all(message.legal is None for message in watcher.told[1:3])


async def test_a_watcher_that_asks_again_at_once_is_not_told_all_of_it_again(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    watcher = Friend()
    for _ in range(3):
        room.runner.watch(watcher)
    assert [type(message) for message in watcher.told] == [Start, Turn]
    room.runner.unwatch(watcher)
    room.runner.watch(watcher)
    assert [type(message) for message in watcher.told] == 2 * [Start, Turn]
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
    room.runner.open()
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
        room.runner.subscribe(friend)
        room.runner.watch_quietly(friend)
    room.runner.unwatch(back)
    room.runner.unwatch(gone)
    room.runner.unsubscribe(gone)
    room.begin()
    room.runner.receive(Resigned(0))
    await room.end()
    await back.until(End)
    assert [type(message) for message in both.told] == [Start, Turn, End]
    assert [type(message) for message in back.told] == [Start]
    assert gone.told == []


async def test_no_turn_is_made_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(tmp_path)
    shown: list[bool] = []
    receive = room.match.receive

    def observed(*args: Any) -> list[Effect]:
        effects = receive(*args)
        shown.append(any(isinstance(effect, Show) for effect in effects))
        return effects

    monkeypatch.setattr(room.match, "receive", observed)
    room.runner.subscribe(Friend())
    room.begin()
    first, second = Friend(), Friend()
    room.runner.watch(first)
    room.runner.watch_quietly(second)
    room.play()
    room.runner.unwatch(first)
    room.play()
    room.runner.unwatch(second)
    room.play()
    assert shown == [False, False, True, True, False]
    room.runner.stop()


async def again(room: Room) -> None:
    """Wait until the match that is held has tried once more."""
    room.tried.clear()
    await asyncio.wait_for(room.tried.wait(), WITHIN)


async def test_while_the_disk_is_full_a_match_is_held_and_then_it_goes_on_as_if_nothing_had_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tmp_path, bank=0.5, increment=0).begin()
    room.play()
    told = [len(friend.told) for friend in room.friends]
    with monkeypatch.context() as patch:
        full_disk(patch)
        room.play()
        assert [len(friend.told) for friend in room.friends] == told
        await asyncio.sleep(0.6)  # longer than a bank
    assert "No space left on device" in str(room.held[0])
    turn = await room.friends[0].until(Turn)
    while turn.ply < 2:
        turn = await room.friends[0].until(Turn)
    assert room.held[-1] is None
    assert turn.clock[0] == pytest.approx(500, abs=100)
    assert [line.event.ply for line in room.journal.read("m-1") if isinstance(line, Ply)] == [0, 1]
    room.runner.receive(Resigned(0))
    assert [end.reason for end in await room.end()] == ["resigned"] * 2


async def test_the_seats_of_a_match_that_is_held_are_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(tmp_path).begin()
    with monkeypatch.context() as patch:
        full_disk(patch)
        room.play()
        for _ in range(3):
            await again(room)
    for friend in room.friends:
        told = [message for message in friend.told if isinstance(message, Error)]
        assert [(message.code, message.ref) for message in told] == [("unavailable", "m-1")]
    room.runner.stop()


async def test_what_comes_in_while_a_match_is_held_is_done_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tmp_path).begin()
    room.play()
    newer, watcher, gone, brief = Friend(), Friend(), Friend(), Friend()
    with monkeypatch.context() as patch:
        full_disk(patch)
        room.play()
        room.runner.receive(Played(0, 2, A_MOVE))
        room.runner.lose(1, room.friends[1])
        room.runner.come_back(1, brief, follow=False)
        room.runner.lose(1, brief)
        room.runner.come_back(1, newer, follow=False)
        for peer in (watcher, gone):
            room.runner.watch(peer)
        room.runner.unwatch(gone)
        assert watcher.told == newer.told == []
    turn = await newer.until(Turn)
    assert (turn.ply, turn.to_move) == (3, 1)
    assert [event.ply for event in turn.events] == [1, 2]  # from its last move on, as it comes back
    assert [type(message) for message in watcher.told] == [Start, Turn]
    assert gone.told == brief.told == []
    room.runner.stop()


async def test_a_seat_that_floods_a_match_that_is_held_is_not_kept_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tmp_path).begin()
    with monkeypatch.context() as patch:
        full_disk(patch)
        room.play()
        for ply in range(100):
            room.runner.receive(Played(0, ply, A_MOVE))
        room.runner.receive(Resigned(1))
    assert [end.reason for end in await room.end()] == ["resigned"] * 2
    assert len([message for message in room.friends[0].told if isinstance(message, Rejected)]) <= MOST_KEPT


async def test_a_match_may_be_held_again_by_what_it_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(tmp_path).begin()
    write, left = os.write, [0]

    def few(file: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        left[0] -= 1
        return write(file, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", few)
        room.play()
        room.runner.receive(Played(1, 1, A_MOVE))
        room.runner.receive(Played(0, 2, A_MOVE))
        left[0] = 1
        turn = await room.friends[1].until(Turn)
        assert turn.ply == 1
        assert len([line for line in room.journal.read("m-1") if isinstance(line, Ply)]) == 1
    while turn.ply < 3:
        turn = await room.friends[1].until(Turn)
    room.runner.stop()


async def test_a_match_that_is_held_and_stopped_goes_on_from_what_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tmp_path).begin()
    before = room.journal.read("m-1")
    with monkeypatch.context() as patch:
        full_disk(patch)
        room.play()
        room.runner.stop()
    await asyncio.sleep(2 * runner.TRY_AGAIN)
    assert room.journal.read("m-1") == before


@pytest.mark.parametrize("kind", [Resigned, Forfeited])
async def test_an_end_that_can_not_be_recorded_is_told_when_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    room = Room(tmp_path).begin()
    with monkeypatch.context() as patch:
        full_disk(patch)
        room.runner.receive(kind(0))
        await again(room)
        assert room.finishes == 0
    assert (await room.end())[0].ranks == [2, 1]


async def test_a_match_is_not_told_void_before_that_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tmp_path).begin()
    with monkeypatch.context() as patch:
        full_disk(patch)
        room.runner.receive(Voided())
        await again(room)
        assert room.finishes == 0
    assert [end.reason for end in await room.end()] == ["void"] * 2
    assert any(isinstance(line, Void) for line in room.journal.read("m-1"))


async def test_a_disk_that_is_full_when_all_are_ready_holds_the_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tmp_path, "nim", {"heaps": [9, 9], "start": "p-position"})
    room.runner.open()
    with monkeypatch.context() as patch:
        full_disk(patch)
        room.runner.receive(Readied(0, b""))
        room.runner.receive(Readied(1, b""))
    assert (await room.friends[0].until(Turn)).events[0].ply == 0  # the deal
    room.runner.stop()


async def test_a_disk_that_is_full_at_the_beginning_is_a_fault_and_nobody_is_told_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tmp_path)
    full_disk(monkeypatch)
    with pytest.raises(JournalFault, match="No space left on device"):
        room.runner.open()
    assert [friend.told for friend in room.friends] == [[], []]
    assert room.runner._timer is None


@pytest.mark.parametrize("fails", ["apply", "offer", "encode_state", "to_move", "ranks", "drop"])
async def test_rules_that_fail_void_the_match_and_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fails: str
) -> None:
    room = Room(tmp_path, "dibs", {"sticks": [6]}).begin()
    room.play({"take": 1})
    original = getattr(Dibs, fails)

    def fail(*args: Any) -> Any:
        raise RuntimeError("a bug in the rules")

    monkeypatch.setattr(Dibs, fails, fail)
    if fails == "drop":
        room.runner.receive(Resigned(2))
    else:
        for _ in range(6):
            if room.finishes == 0:
                room.play({"take": 1})
    monkeypatch.setattr(Dibs, fails, original)
    ends = await room.end()
    assert [end.reason for end in ends] == ["void"] * 3
    assert "match m-1 is void: the arena failed at " in caplog.text
    assert "a bug in the rules" in caplog.text


async def test_rules_that_can_not_even_begin_void_the_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> Any:
        raise RuntimeError("a bug in the rules")

    room = Room(tmp_path, "dibs")
    monkeypatch.setattr(Dibs, "initial", fail)
    room.begin()
    assert [end.reason for end in await room.end()] == ["void"] * 3


async def test_a_peer_that_fails_is_its_own_trouble_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Friend):
        def send(self, message: FromServer) -> None:
            raise ConnectionError("gone")

    room = Room(tmp_path)
    room.runner.sit(0, Broken(), follow=False)
    room.runner.watch_quietly(Broken())
    room.begin()
    room.play()
    assert (await room.friends[1].until(Turn)).ply == 1
    assert "match m-1: a turn could not be sent" in caplog.text
    room.runner.stop()


async def test_a_fault_after_the_end_does_not_end_the_match_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    room = Room(tmp_path).begin()
    room.runner.receive(Resigned(0))

    def fail(*args: Any) -> Any:
        raise RuntimeError("a bug")

    monkeypatch.setattr(room.match, "receive", fail)
    room.play()
    assert room.finishes == 1
    assert "a bug" in caplog.text


async def test_a_runner_that_was_stopped_hears_no_more_and_leaves_the_journal_as_it_is(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.play()
    before = room.journal.read("m-1")
    room.runner.stop()
    room.play()
    room.runner.receive(Voided())
    assert room.finishes == 0
    assert room.journal.read("m-1") == before
    assert room.runner._timer is None


async def test_a_move_after_the_end_is_rejected_even_while_the_result_is_stored(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.runner.receive(Resigned(0))
    room.runner.stop()
    room.play()
    assert (await room.friends[0].until(Rejected)).code == "no_such_match"


async def test_a_match_goes_on_from_its_journal_with_the_seats_that_are_here_already(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.play()
    room.runner.stop()
    again = room.made(room.journal.proceed("m-1"))
    early = Friend()
    again.sit(1, early, follow=False)
    again.resume(room.match.recall(room.journal.read("m-1")[2:]))
    assert [type(message) for message in early.told] == [Start, Turn]
    late = Friend()
    again.come_back(0, late, follow=False)
    again.receive(Played(1, 1, A_MOVE))
    assert late.told[-1].ply == 2
    room.runner = again
    room.friends = [late, early]
    again.receive(Resigned(0))
    assert [end.reason for end in await room.end()] == ["resigned", "resigned"]


async def test_a_journal_that_does_not_follow_from_the_rules_is_refused(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.play()
    room.runner.stop()
    lines = room.journal.read("m-1")[2:]
    room.made(room.journal.proceed("m-1")).stop()
    with pytest.raises(BadRecord):
        room.match.recall([*lines, lines[-1]])


async def test_a_deadline_that_moved_is_waited_for(tmp_path: Path) -> None:
    room = Room(tmp_path, bank=0.03, increment=0).begin()
    room.runner.receive(Held(0.03))
    loop = asyncio.get_running_loop()
    began = loop.time()
    await room.end()
    assert loop.time() - began >= 0.03
