"""A match that can't be recorded: it is held, on a real event loop, and goes on when it can be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from arena.host.backlog import MAX_QUEUED_PER_SEAT
from arena.host.journal import JournalFault
from arena.host.timeouts import HostTimeouts
from match_room import Friend, Room
from protocol.messages import Error, Rejected, Start, Turn
from referee.effects import Abort, Forfeit, MatchEvent, MoveReceived, Resignation, SeatReady
from referee.record import Ply
from referee_table import A_MOVE
from virtual_time import advance

pytestmark = pytest.mark.virtual_time
RETRY_DELAY_S = HostTimeouts().record_retry_delay_s


@contextmanager
def full_disk() -> Iterator[None]:
    """Nothing can be recorded meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", Mock(side_effect=OSError(28, "No space left on device")))
        yield


async def test_while_the_disk_is_full_a_match_is_held_and_then_it_goes_on_as_if_nothing_had_been(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path, bank=0.5, increment=0).begin()
    room.play()
    told = [len(friend.told) for friend in room.friends]
    with full_disk():
        room.play()
        assert [len(friend.told) for friend in room.friends] == told
        await advance(60.0)
        assert len(room.health.told) == 61, "at once and every second"
    await advance(RETRY_DELAY_S)
    assert "No space left on device" in str(room.health.told[0])
    turn = await room.friends[0].until(Turn)
    while turn.ply < 2:
        turn = await room.friends[0].until(Turn)
    assert room.health.told[-1] is None
    assert turn.clock[0] == 500
    assert [line.event.ply for line in room.journal.read("m-1") if isinstance(line, Ply)] == [0, 1]
    room.play()
    assert (await room.friends[1].until(Turn)).ply == 1
    assert (await room.friends[1].until(Turn)).clock[0] == 500  # none of it for being held
    room.runner.receive(Resignation(0))
    assert [end.reason for end in await room.end()] == ["resigned"] * 2


async def test_the_seats_of_a_match_that_is_held_are_told_once(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    with full_disk():
        room.play()
        await advance(3 * RETRY_DELAY_S)
    for friend in room.friends:
        told = [message for message in friend.told if isinstance(message, Error)]
        assert [(message.code, message.ref) for message in told] == [("unavailable", "m-1")]
    room.runner.stop()


async def test_what_comes_in_while_a_match_is_held_is_done_afterwards(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    room.play()
    newer, watcher, gone, brief = Friend(), Friend(), Friend(), Friend()
    with full_disk():
        room.play()
        room.runner.receive(MoveReceived(0, 2, A_MOVE))
        room.runner.remove_peer(1, room.friends[1])
        room.runner.return_seat(1, brief, follow=False)
        room.runner.remove_peer(1, brief)
        room.runner.return_seat(1, newer, follow=False)
        for peer in (watcher, gone):
            room.runner.watch(peer)
        room.runner.unwatch(gone)
        assert watcher.told == newer.told == []
    await advance(RETRY_DELAY_S)
    turn = await newer.until(Turn)
    assert (turn.ply, turn.to_move) == (3, 1)
    assert [event.ply for event in turn.events] == [1, 2]  # from its last move on, as it comes back
    assert [type(message) for message in watcher.told] == [Start, Turn]
    assert gone.told == brief.told == []
    room.runner.stop()


async def test_a_seat_that_floods_a_match_that_is_held_is_not_kept_for_ever(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    with full_disk():
        room.play()
        for ply in range(100):
            room.runner.receive(MoveReceived(0, ply, A_MOVE))
        room.runner.receive(Resignation(1))
    await advance(RETRY_DELAY_S)
    assert [end.reason for end in await room.end()] == ["resigned"] * 2
    assert len([message for message in room.friends[0].told if isinstance(message, Rejected)]) <= MAX_QUEUED_PER_SEAT


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
        room.runner.receive(MoveReceived(1, 1, A_MOVE))
        room.runner.receive(MoveReceived(0, 2, A_MOVE))
        left[0] = 1
        await advance(RETRY_DELAY_S)
        turn = await room.friends[1].until(Turn)
        assert turn.ply == 1
        assert len([line for line in room.journal.read("m-1") if isinstance(line, Ply)]) == 1
    await advance(RETRY_DELAY_S)
    while turn.ply < 3:
        turn = await room.friends[1].until(Turn)
    room.runner.stop()


async def test_a_match_that_is_held_and_stopped_goes_on_from_what_was_recorded(tmp_path: Path) -> None:
    room = Room(tmp_path).begin()
    before = room.journal.read("m-1")
    with full_disk():
        room.play()
        room.runner.stop()
    await advance(2 * RETRY_DELAY_S)
    assert room.journal.read("m-1") == before
    assert len(room.health.told) == 1


@pytest.mark.parametrize(("event", "ranks"), [(Resignation(0), [2, 1]), (Forfeit(0), [2, 1]), (Abort(), [1, 1])])
async def test_an_end_that_can_not_be_recorded_is_told_when_it_is(
    tmp_path: Path, event: MatchEvent, ranks: list[int]
) -> None:
    room = Room(tmp_path).begin()
    with full_disk():
        room.runner.receive(event)
        await advance(RETRY_DELAY_S)
        assert room.finishes == 0
    await advance(RETRY_DELAY_S)
    assert [end.ranks for end in await room.end()] == [ranks] * 2


async def test_a_disk_that_is_full_when_all_are_ready_holds_the_match(tmp_path: Path) -> None:
    room = Room(tmp_path, "nim", {"heaps": [9, 9], "start": "p-position"})
    room.runner.start()
    with full_disk():
        room.runner.receive(SeatReady(0, b""))
        room.runner.receive(SeatReady(1, b""))
    await advance(RETRY_DELAY_S)
    assert (await room.friends[0].until(Turn)).events[0].ply == 0  # the deal
    room.runner.stop()


async def test_a_disk_that_is_full_at_the_beginning_is_a_fault_and_nobody_is_told_anything(tmp_path: Path) -> None:
    room = Room(tmp_path)
    with full_disk(), pytest.raises(JournalFault, match="No space left on device"):
        room.runner.start()
    assert [friend.told for friend in room.friends] == [[], []]
    assert room.runner._timer is None
