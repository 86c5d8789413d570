"""What matches have recorded at the end of a turn of the event loop, and the disk that is waited for."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.host.journal import Journal
from arena.host.recorder import Recorder
from arena.host.timeouts import HostTimeouts
from arena.network.flusher import Flusher
from match_room import Room
from protocol.messages import Error, Turn
from referee.effects import MoveReceived, Resignation
from referee.record import Ply
from referee_table import A_MOVE
from timeouts import WITHIN
from virtual_time import advance


class Disk:
    """What is done to files of the journal; it can be slow, or fail."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.written: list[str] = []
        self.synced: list[str] = []
        self.turns = threading.Event()
        """Set unless it is slow."""
        self.turns.set()
        self.fails = False
        self._write, self._sync = os.write, os.fdatasync
        patch.setattr(os, "write", self._noted_write)
        patch.setattr(os, "fdatasync", self._noted_sync)

    def _noted_write(self, file: int, data: bytes) -> int:
        self.written.append(_name(file))
        return self._write(file, data)

    def _noted_sync(self, file: int) -> None:
        assert self.turns.wait(WITHIN)
        if self.fails:
            raise OSError(5, "Input/output error")
        self._sync(file)
        self.synced.append(_name(file))


def _name(file: int) -> str:
    return Path(os.readlink(f"/proc/self/fd/{file}")).name


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk(monkeypatch)
    yield disk
    disk.turns.set()


def ends_turns(journal: Journal) -> Recorder:
    """A recorder that commits when the turn of the loop has ended, as a server's does."""
    flusher = Flusher(asyncio.get_running_loop(), lambda: made.commit())
    made = Recorder(flusher.schedule_flush, journal.log)
    return made


async def begun(folder: Path, matches: int, *, synced: bool) -> list[Room]:
    """Matches with one recorder, each in its first turn."""
    journal = Journal(folder, synced=synced)
    recorder = ends_turns(journal)
    rooms = [Room(folder, journal=journal, recorder=recorder, match=f"m-{number}") for number in range(matches)]
    for room in rooms:
        await room.begin().friends[0].until(Turn)
    return rooms


async def test_a_match_is_written_once_a_turn_and_nobody_is_told_before(tmp_path: Path, disk: Disk) -> None:
    (room,) = await begun(tmp_path, 1, synced=False)
    disk.written.clear()
    room.play()
    room.runner.receive(Resignation(1))
    assert disk.written == []
    assert room.friends[1].told == room.friends[1].told[:1]
    await room.end()
    assert disk.written == ["m-0.jsonl", "m-0.jsonl"], "what came while it waited is an event of its own"


async def test_all_matches_of_a_turn_are_on_disk_by_one_sync_and_then_told(tmp_path: Path, disk: Disk) -> None:
    rooms = await begun(tmp_path, 5, synced=True)
    times = rooms[0].runner._recorder.sync_times
    before = sum(times.counts)
    disk.synced.clear()
    disk.turns.clear()
    for room in rooms:
        room.play()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [line.event.ply for room in rooms for line in lines(room)] == [0] * 5
    assert not any(isinstance(message, Turn) for room in rooms for message in room.friends[1].told)
    disk.turns.set()
    for room in rooms:
        assert (await room.friends[1].until(Turn)).ply == 1
    assert disk.synced == ["commits-0"]
    assert sum(times.counts) == before + 1, "a sync is measured"


def lines(room: Room) -> list[Ply]:
    return [line for line in room.journal.read(room.match.id) if isinstance(line, Ply)]


async def test_what_comes_while_the_disk_is_slow_is_done_afterwards_and_all_of_it_synced_together(
    tmp_path: Path, disk: Disk
) -> None:
    rooms = await begun(tmp_path, 3, synced=True)
    disk.synced.clear()
    disk.turns.clear()
    rooms[0].play()
    await asyncio.sleep(0)
    rooms[1].play()
    rooms[2].play()
    rooms[0].runner.receive(MoveReceived(1, 1, A_MOVE))
    await asyncio.sleep(0)
    disk.turns.set()
    turns = [await room.friends[1].until(Turn) for room in rooms]
    assert [turn.ply for turn in turns] == [1, 1, 1]
    assert [turn.ply for turn in [await rooms[0].friends[0].until(Turn)]] == [2]
    assert len(disk.synced) <= 3


async def test_the_time_that_a_slow_disk_took_is_given_back_also_to_who_waited_for_it_behind_others(
    tmp_path: Path, disk: Disk
) -> None:
    rooms = await begun(tmp_path, 2, synced=True)
    disk.turns.clear()
    rooms[0].play()
    await asyncio.sleep(0)
    rooms[1].play()  # it waits for the first sync, and then for its own
    asyncio.get_running_loop().call_later(0.5, disk.turns.set)
    for room in rooms:
        await room.friends[1].until(Turn)
        shown, running = room.runner.get_clocks()
        assert running == 1
        assert shown[1] > 60_000 - 250


async def test_a_listing_says_nothing_that_is_not_on_disk(tmp_path: Path, disk: Disk) -> None:
    (room,) = await begun(tmp_path, 1, synced=True)
    disk.turns.clear()
    room.play()
    assert room.runner.make_listing().ply == 0
    disk.turns.set()
    await room.friends[1].until(Turn)
    assert room.runner.make_listing().ply == 1


async def test_what_waits_when_it_is_closed_is_told_to_nobody_and_nothing_fails(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    rooms = await begun(tmp_path, 2, synced=True)
    failed: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: failed.append(context))
    disk.turns.clear()
    rooms[0].play()
    await asyncio.sleep(0)
    rooms[1].play()
    await asyncio.sleep(0)
    for room in rooms:
        room.runner.stop()
    disk.turns.set()
    rooms[0].runner._recorder.close()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not any(isinstance(message, Turn) for room in rooms for message in room.friends[1].told)
    assert failed == []
    assert caplog.text == ""


@pytest.mark.virtual_time
async def test_a_match_that_can_not_be_synced_is_held_and_goes_on_when_it_can(tmp_path: Path, disk: Disk) -> None:
    (room,) = await begun(tmp_path, 1, synced=True)
    disk.fails = True
    room.play()
    await advance(HostTimeouts().record_retry_delay_s)
    error = await room.friends[1].until(Error)
    assert "can't record this match at present" in error.message
    assert "can't be synced: Input/output error" in str(room.health.told[0])
    disk.fails = False
    await advance(HostTimeouts().record_retry_delay_s)
    assert (await room.friends[1].until(Turn)).ply == 1
    assert room.health.told[-1] is None
    assert [line.event.ply for line in lines(room)] == [0]
