"""What a runner does with the bots that it is told to run, and the versions that it is told to check."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from arena.commands import runner as runner_command
from arena.hosting.submission import SubmissionLimits, read_source_file
from arena.operations.hosting import handlers
from arena.operator.channel import Channel
from arena.operator.client import NoServerAnswer
from arena.operator.hosting import (
    MAX_PART_BYTES,
    MAX_RECORDS_BYTES,
    CheckVersion,
    EndBot,
    FinishMatches,
    Joined,
    JoinFleet,
    LeaveFleet,
    ReadVersion,
    ReportBotEnded,
    ReportCheck,
    RunBot,
    SubmissionPart,
)
from arena.operator.requests import MAX_REQUEST_BYTES, encode_request
from arena.processes.process import start_keeper
from arena.runner import check, hosted_bot, runner, version_cache
from arena.runner.box import Boxes
from arena.runner.check import CheckOutcome
from arena.runner.hand_in import FILE_PART_BYTES, folder_of_version
from arena.runner.runner import MIN_PART_BYTES, PART_TIME_S, TIMEOUTS, RunnerSession, next_part_bytes
from arena.runner.version_cache import MIN_FREE_BYTES, BuiltProgram, DiskFull, VersionCache
from arena.store import bot_states
from machine.subprocesses import limit_niceness
from machine.timeouts import scale_timeouts
from protocol.errors import ArenaFault, UsageFault
from timeouts import WITHIN, found_in

PROGRAM = read_source_file("mine.sh", b"echo", ["nim"], ["nim"], SubmissionLimits())
PACKED = PROGRAM.pack()
ANN = RunBot(bot="ann", number=1, digest=PROGRAM.digest, ticket="t")
CHECK = CheckVersion(version=7, bot="ann", number=1, digest=PROGRAM.digest)


class Arena:
    """The arena at the other end of a runner's connection: it keeps what it was asked, and sends `PROGRAM`."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[Any] = asyncio.Queue()
        self.is_lost = asyncio.Event()

    async def ask(self, request: Any, answer: type[Any], *events: object) -> Any:
        if isinstance(request, ReadVersion):
            data = PACKED[request.offset : request.offset + request.max_bytes]
            return SubmissionPart(data=data)
        self.asked.put_nowait(request)
        if isinstance(request, JoinFleet):
            await self.is_lost.wait()
            raise NoServerAnswer("it is gone")
        return None

    async def next(self) -> Any:
        return await asyncio.wait_for(self.asked.get(), WITHIN)


class Running:
    """The bots that run, in place of `run_hosted_bot`: each ends when it is asked to finish, or when `may_end`."""

    def __init__(self) -> None:
        self.began = asyncio.Queue[str]()
        self.may_end = asyncio.Event()

    async def __call__(self, run: RunBot, *given: Any) -> str:
        self.began.put_nowait(run.bot)
        try:
            await given[-1].wait()
        finally:
            await self.may_end.wait()
        return "it has finished"

    async def next(self) -> str:
        return await asyncio.wait_for(self.began.get(), WITHIN)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Running:
    running = Running()
    monkeypatch.setattr(runner, "run_hosted_bot", running)
    return running


@asynccontextmanager
async def joined(folder: Path, slots: int = 1) -> AsyncIterator[tuple[Arena, RunnerSession]]:
    arena = Arena()
    session = RunnerSession(arena, slots, Boxes(memory_mib=64), folder, "ws://127.0.0.1:8765")  # type: ignore[arg-type]
    session.receive(Joined(runner=3))
    try:
        yield arena, session
    finally:
        await session.close()


async def test_a_bot_that_is_given_the_place_of_one_that_still_ends_waits_for_it(
    tmp_path: Path, running: Running
) -> None:
    async with joined(tmp_path) as (_, session):
        session._free_places.get_nowait()  # a check has it
        session.receive(ANN)
        assert await running.next() == "ann"
        session.receive(EndBot(bot="ann"))
        session.receive(RunBot(bot="bob", number=1, digest=PROGRAM.digest, ticket="u"))
        await asyncio.sleep(0)
        assert running.began.empty()
        running.may_end.set()
        assert await running.next() == "bob"


async def test_a_bot_that_is_told_to_finish_is_reported_when_it_has(tmp_path: Path, running: Running) -> None:
    async with joined(tmp_path) as (arena, session):
        session.receive(ANN)
        session.receive(FinishMatches(bot="Ann"))
        running.may_end.set()
        assert await arena.next() == ReportBotEnded(runner=3, bot="ann", why="it has finished")


async def test_a_bot_that_has_ended_is_reported_though_what_it_left_can_not_be_handed_in(
    tmp_path: Path, running: Running
) -> None:
    async with joined(tmp_path) as (arena, session):
        session.hand_in = AsyncMock(side_effect=OSError(errno.EROFS, os.strerror(errno.EROFS)))  # type: ignore[method-assign]
        session.receive(ANN)
        session.receive(FinishMatches(bot="ann"))
        running.may_end.set()
        assert type(await arena.next()) is ReportBotEnded


async def test_the_client_of_a_bot_that_is_told_to_finish_gets_sigterm_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = (sys.executable, "-c", "import signal; signal.sigwait({signal.SIGTERM}); print('it plays on')")
    monkeypatch.setattr(hosted_bot, "client_command", lambda *_: client)
    program, finish = BuiltProgram(folder=tmp_path, manifest=PROGRAM.manifest), asyncio.Event()
    finish.set()
    running = hosted_bot.run_hosted_bot(ANN, program, Mock(), 0, "ws://127.0.0.1:9", tmp_path, start_keeper, finish)
    assert await asyncio.wait_for(running, WITHIN) == "it has finished its matches"
    assert await asyncio.to_thread((tmp_path / "ann.log").read_text) == "it plays on\n"


async def test_the_client_of_a_bot_has_a_lower_priority_than_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = (sys.executable, "-c", "import os; print(os.nice(0)); raise SystemExit(1)")
    monkeypatch.setattr(hosted_bot, "client_command", lambda *_: client)
    program = BuiltProgram(folder=tmp_path, manifest=PROGRAM.manifest)
    running = hosted_bot.run_hosted_bot(
        ANN, program, Mock(), 0, "ws://127.0.0.1:9", tmp_path, start_keeper, asyncio.Event()
    )
    await asyncio.wait_for(running, WITHIN)
    assert (
        await asyncio.to_thread((tmp_path / "ann.log").read_text)
        == f"{os.nice(0) + limit_niceness(hosted_bot.CLIENT_NICENESS)}\n"
    )


async def test_a_runner_that_leaves_stops_when_its_bots_have_finished(tmp_path: Path, running: Running) -> None:
    async with joined(tmp_path) as (arena, session):
        leave = asyncio.Event()
        working = asyncio.create_task(session.work(leave))
        assert await arena.next() == JoinFleet(slots=1, host=socket.gethostname())
        session.receive(ANN)
        await running.next()
        leave.set()
        assert await arena.next() == LeaveFleet(runner=3)
        session.receive(FinishMatches(bot="ann"))
        assert not working.done()
        running.may_end.set()
        assert type(await arena.next()) is ReportBotEnded
        await asyncio.wait_for(working, WITHIN)


async def test_a_runner_ends_the_logs_that_lost_clients_left_open_and_removes_folders_that_nobody_needs(
    tmp_path: Path,
) -> None:
    left, unused = (folder_of_version(tmp_path, bot, 1) for bot in ("ann", "bob"))
    for folder in (left, unused):
        folder.mkdir(parents=True)
    (left / "m-1.open").write_text("{}")
    async with joined(tmp_path):
        assert os.listdir(left.parent) == [left.name]
        assert os.listdir(left) == ["m-1.json"]


async def test_a_runner_removes_programs_and_logs_that_nobody_has_used_for_a_week_while_it_runs(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    async with joined(tmp_path) as (_, session):
        old = [tmp_path / "versions" / "a1b2", tmp_path / "logs" / "deleted.log"]
        old[0].mkdir()
        old[1].touch()
        for path in old:
            os.utime(path, times=(0, 0))
        tidying = asyncio.create_task(session.keep_tidy())
        await asyncio.to_thread(found_in, old[0].parent, lambda: None if any(path.exists() for path in old) else True)
        tidying.cancel()


async def test_an_arena_that_hosts_no_bots_is_told_in_one_line(tmp_path: Path) -> None:
    async with joined(tmp_path) as (arena, session):
        arena.ask = AsyncMock(side_effect=UsageFault("do is 'join_fleet': one of ban, register"))  # type: ignore[method-assign]
        with pytest.raises(UsageFault, match=r"^the arena hosts no bots: start it with"):
            await session.work(asyncio.Event())
        arena.ask = AsyncMock()  # type: ignore[method-assign]


async def test_a_runner_whose_connection_ends_works_no_longer(tmp_path: Path) -> None:
    async with joined(tmp_path) as (arena, session):
        arena.is_lost.set()
        with pytest.raises(NoServerAnswer):
            await session.work(asyncio.Event())


async def test_the_first_signal_has_a_runner_leave_and_the_second_ends_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, has_left = asyncio.Event(), asyncio.Event()

    async def run(*given: Any) -> None:
        began.set()
        await given[-1].wait()
        has_left.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(runner_command, "run", run)
    working = asyncio.create_task(runner_command._run("", "", 1, Boxes(memory_mib=64), tmp_path, ""))
    await began.wait()
    try:
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(has_left.wait(), WITHIN)
        signal.raise_signal(signal.SIGINT)
        await asyncio.wait_for(working, WITHIN)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().remove_signal_handler(number)


async def test_the_connection_of_a_runner_is_watched_so_closely_that_its_bots_play_elsewhere_within_15_s() -> None:
    (join,) = [handler for handler in handlers(Mock(), Mock()) if handler.request is JoinFleet]
    assert join.keepalive is not None
    assert join.keepalive.ping_interval_s + join.keepalive.pong_timeout_s <= 6.0
    connection = Mock()
    channel = Channel({"join_fleet": join._replace(perform=AsyncMock())}, Mock())
    channel.start_operation(connection, {}, '{"id": 1, "do": "join_fleet", "slots": 2}')
    await channel.close()
    watched = scale_timeouts(join.keepalive)
    connection.set_keepalive.assert_called_once_with(watched.ping_interval_s, watched.pong_timeout_s)


def a_full_disk(*_: object) -> None:
    raise DiskFull("the disk is full")


def a_full_temporary_folder(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("fail", [a_full_disk, a_full_temporary_folder])
async def test_a_runner_that_has_no_room_blames_neither_bot_nor_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fail: Callable[..., None]
) -> None:
    async def check(*_: object) -> CheckOutcome:
        fail()
        raise AssertionError

    monkeypatch.setattr(runner, "check_version", check)
    monkeypatch.setattr(runner, "run_hosted_bot", check)
    async with joined(tmp_path) as (arena, session):
        session.receive(CHECK)
        checked = await arena.next()
        assert type(checked) is ReportCheck
        assert (checked.version, checked.passed, checked.runner_failed) == (7, False, True)
        session.receive(ANN)
        ended = await arena.next()
        assert type(ended) is ReportBotEnded
        assert (ended.bot, ended.runner_failed) == ("ann", True)


async def test_an_arena_that_can_not_read_a_program_fails_no_version(tmp_path: Path) -> None:
    async with joined(tmp_path) as (arena, session):
        session._versions._read = AsyncMock(side_effect=ArenaFault("the database can't be read"))
        session.receive(CHECK)
        checked = await arena.next()
        assert (checked.passed, checked.runner_failed, checked.report) == (False, True, "the database can't be read")


@pytest.fixture
def free_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The free bytes of the disk at each question from now on; the last ones stay."""
    left = [MIN_FREE_BYTES]

    def disk_usage(folder: Path) -> SimpleNamespace:
        return SimpleNamespace(free=left.pop(0) if len(left) > 1 else left[0])

    monkeypatch.setattr(version_cache.shutil, "disk_usage", disk_usage)  # type: ignore[attr-defined]
    return left


async def test_a_full_disk_costs_versions_that_nobody_uses_and_then_nothing_new_is_built(
    tmp_path: Path, free_bytes: list[int]
) -> None:
    async def read(digest: str) -> bytes:
        return PACKED

    cache = VersionCache(tmp_path, Boxes(memory_mib=64), read)
    for name in ("old", "used", "used.part"):
        (tmp_path / name).mkdir()
    with cache.using("used"), cache.using(PROGRAM.digest):
        free_bytes[:] = [MIN_FREE_BYTES - 1, MIN_FREE_BYTES]
        assert (await cache.get(PROGRAM.digest, 0)).manifest.games == ("nim",)
        assert set(os.listdir(tmp_path)) == {"used", "used.part", PROGRAM.digest}
        free_bytes[:] = [0]
        with pytest.raises(DiskFull, match="is full: 0 MiB are free, 256 MiB are needed"):
            await cache.get(PROGRAM.digest, 0)


async def test_a_disk_that_becomes_full_while_a_version_is_written_is_no_fault_of_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read(digest: str) -> bytes:
        return PACKED

    monkeypatch.setattr(version_cache, "write_files", a_full_temporary_folder)
    with pytest.raises(DiskFull, match="is full: No space left on device"):
        await VersionCache(tmp_path, Boxes(memory_mib=64), read).get(PROGRAM.digest, 0)
    assert not os.listdir(tmp_path)


async def test_the_report_of_a_check_is_no_longer_than_a_request_may_be_and_no_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(*given: Any) -> CheckOutcome:
        (given[-1] / "mine.log").touch()
        return CheckOutcome(False, "\1" * MAX_REQUEST_BYTES + given[1])

    (temporary := tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(check, "_play", play)
    async with joined(tmp_path) as (arena, session):
        session.receive(CHECK)
        checked = await arena.next()
        assert len(encode_request(1, checked, "runner")) < MAX_REQUEST_BYTES - MAX_RECORDS_BYTES * 4 // 3
        assert checked.report.endswith("nim")
    assert not os.listdir(temporary)


def test_parts_of_a_submission_are_small_on_a_slow_link_and_grow_on_a_fast_one() -> None:
    sizes = [MIN_PART_BYTES]
    for _ in range(6):
        sizes.append(next_part_bytes(sizes[-1], 0.01))
    assert sizes == [MIN_PART_BYTES * 2**n for n in range(6)] + [MAX_PART_BYTES]
    assert next_part_bytes(MAX_PART_BYTES, PART_TIME_S) == MAX_PART_BYTES
    assert next_part_bytes(MAX_PART_BYTES, 2 * PART_TIME_S) == MAX_PART_BYTES // 2
    assert next_part_bytes(MIN_PART_BYTES, 9.0) == MIN_PART_BYTES
    for size in (MIN_PART_BYTES, FILE_PART_BYTES, bot_states.READ_CHUNK_BYTES):
        assert TIMEOUTS.pong_timeout_s / 2 > size / 10_000, "a pong behind a part comes in time at 10 KB/s"


async def test_one_submission_is_fetched_at_a_time_so_that_a_slow_link_is_never_full(tmp_path: Path) -> None:
    under_way, most = 0, 0

    class Slow(Arena):
        async def ask(self, request: Any, answer: type[Any], *events: object) -> Any:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            return await super().ask(request, answer)

    session = RunnerSession(Slow(), 1, Boxes(memory_mib=64), tmp_path, "ws://127.0.0.1:8765")  # type: ignore[arg-type]
    found = await asyncio.gather(*(session._read_version(PROGRAM.digest) for _ in range(3)))
    assert [bytes(one) for one in found] == [PACKED] * 3
    assert most == 1
