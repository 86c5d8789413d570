"""Backups that a server makes by itself: when, whole or not there, the oldest removed after a newer one."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from arena.operations import backups
from arena.operations.backups import BackupSchedule, back_up_once, run_backups, seconds_until_due
from arena.server.warnings import Warnings
from arena.store.archives import all_archives
from arena.store.archiving import OldRecordFilter, move_all, purge_removed_records
from arena.store.result_queries import iter_results, record_of
from arena.store.store import Reader, Store
from arena.store.thinning import RecordsOfBot, remove_all
from commands import call
from library import ANN, BOB, Library
from machine.event_loop import background_task
from machine.run_program import ProgramEnd
from processes import serving
from protocol.errors import ArenaFault
from seasons import season
from timeouts import found_in
from virtual_time import advance


@pytest.fixture
def database(tmp_path: Path) -> Path:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        season(store, 3)
    return tmp_path / "arena.db"


def named(folder: Path, **ago: float) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / (datetime.now(UTC) - timedelta(**ago)).strftime("arena-%Y-%m-%dT%H%M%SZ.db")
    file.touch()
    return file


async def test_a_new_backup_is_whole_and_the_oldest_go(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    old = [named(folder, days=days) for days in (3, 2, 1)]
    (folder / "mine.db").touch()
    assert await back_up_once(database, BackupSchedule(folder, 24, 2)) is None
    made = max(set(folder.iterdir()) - {folder / "mine.db"})
    assert set(folder.iterdir()) == {folder / "mine.db", old[2], made}
    assert made.stat().st_mode & 0o777 == 0o600
    with closing(Reader.open(made)) as reader:
        assert len(list(reader.iterate(iter_results))) == 3


@pytest.mark.usefixtures("in_process")
async def test_after_a_clock_was_set_back_a_new_backup_stays_and_those_of_the_future_go_first(
    database: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    *_, latest = [named(folder, days=days) for days in (-1, -2, -3)]
    past = named(folder, days=1)
    await back_up_once(database, BackupSchedule(folder, 24, 3))
    left = set(folder.iterdir())
    assert left > {past, latest}
    assert len(left) == 3


class Told(Warnings):
    """Notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: asyncio.Queue[str | None] = asyncio.Queue()

    def update(self, kind: str, text: str | None) -> None:
        super().update(kind, text)
        self.told.put_nowait(text)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make backups in this process, without the start of a program."""

    async def run(*command: str, end_signal: int) -> ProgramEnd:
        monkeypatch.setattr(sys, "argv", command[2:])
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                backups.main()
        except SystemExit as stop:
            return ProgramEnd(1, b"", str(stop.code).encode())
        return ProgramEnd(0, out.getvalue().encode(), b"")

    monkeypatch.setattr(backups, "run_program", run)
    for name in ("die_with_parent", "renice"):
        monkeypatch.setattr(backups, name, lambda *_: None)


@pytest.mark.usefixtures("in_process")
@pytest.mark.virtual_time
async def test_one_that_fails_removes_none_and_is_told_until_one_is_made(
    database: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "backups"
    old = named(folder, days=3)
    os.rename(database, tmp_path / "away")
    warnings = Told()
    async with background_task(run_backups(database, BackupSchedule(folder, 1, 1), warnings)):
        fault = f"no backup was made in {folder}: no arena data in {database}: start `arena serve` or"
        assert (await warnings.told.get() or "").startswith(fault)
        assert len(warnings.current()) == 1
        assert list(folder.iterdir()) == [old]
        os.rename(tmp_path / "away", database)
        await advance(backups.RETRY_DELAY_S)
        assert await warnings.told.get() is None
    assert warnings.current() == []
    assert len(list(folder.iterdir())) == 1
    assert old not in folder.iterdir()
    assert [one.levelname for one in caplog.records if "no backup" in one.getMessage()] == ["WARNING"]


async def test_a_folder_that_cannot_be_made_is_a_line(database: Path) -> None:
    with pytest.raises(ArenaFault, match=f"^{database}/in: Not a directory$"):
        await back_up_once(database, BackupSchedule(database / "in", 24, 7))


def moved(data: Path, *matches: str) -> Path:
    """The file that these old matches were moved to, each as it was stored."""
    with closing(Store.open(data / "arena.db")) as store:
        for match in matches:
            Library(store).play("nim", [ANN, BOB], match=match, rated=False)
        move_all(store, OldRecordFilter(until="2026-02"), data / "archive")
        return max(one.path for one in store.read(all_archives))


async def begin_backups(database: Path, folder: Path) -> BackupSchedule:
    """Make a backup that counts as of yesterday, after which the old records leave the database."""
    schedule = BackupSchedule(folder, 24, 1)
    await back_up_once(database, schedule)
    (made,) = schedule.folder.glob("*.db")
    made.rename(named(schedule.folder, days=1))
    with closing(Store.open(database)) as store:
        remove_all(store, RecordsOfBot("ann").remove)
        purge_removed_records(store)
    return schedule


@pytest.mark.usefixtures("in_process")
async def test_with_the_oldest_go_the_files_of_old_records_that_only_they_need(database: Path, tmp_path: Path) -> None:
    first = moved(tmp_path, "a")
    schedule = await begin_backups(database, tmp_path / "backups")
    second = moved(tmp_path, "b")
    await back_up_once(database, schedule)
    assert first.name != second.name
    assert [path.name for path in (schedule.folder / "archive").iterdir()] == [second.name]
    (left,) = schedule.folder.glob("*.db")
    with closing(Reader.open(left)) as reader:
        assert reader.read(record_of, "b") is not None


@pytest.mark.parametrize("other", ["a copy of somebody's", "one that is being made", "a copy that is damaged"])
@pytest.mark.usefixtures("in_process")
async def test_a_file_of_old_records_stays_that_another_copy_in_the_folder_may_need(
    database: Path, tmp_path: Path, other: str
) -> None:
    needed = moved(tmp_path, "a")
    schedule = await begin_backups(database, tmp_path / "backups")
    whole = next(schedule.folder.glob("*.db")).read_bytes()
    if other == "a copy of somebody's":
        (schedule.folder / "mine.db").write_bytes(whole)
    elif other == "one that is being made":
        (schedule.folder / "mine.db.part").touch()
    else:
        (schedule.folder / "mine.db").write_bytes(whole[:100] + bytes(len(whole) - 100))
    await back_up_once(database, schedule)
    assert len(list(schedule.folder.glob("arena-*.db"))) == 1
    assert [path.name for path in (schedule.folder / "archive").iterdir()] == [needed.name]


@pytest.mark.usefixtures("in_process")
async def test_a_backup_without_a_file_of_old_records_that_is_missing_is_made_and_told(
    database: Path, tmp_path: Path
) -> None:
    file = moved(tmp_path, "a")
    file.rename(tmp_path / "away")
    schedule = BackupSchedule(tmp_path / "backups", 24, 7)
    warnings = Told()
    async with background_task(run_backups(database, schedule, warnings)):
        told = await warnings.told.get()
    (made,) = schedule.folder.glob("*.db")
    assert told == f"the backup {made} lacks old records, whose files are missing: {file}"


def test_a_database_on_a_server_is_backed_up_by_its_own_tools(tmp_path: Path) -> None:
    done = call("arena", "serve", "--backup-to", str(tmp_path), ARENA_DB="postgresql://ann:secret@localhost/arena")
    says = "backup_to is for a database in a file: `arena db backup FILE` says how pg_dump backs up db"
    assert done == (2, "", f"arena: {says}\n")


def test_the_next_is_due_so_long_after_the_newest(tmp_path: Path) -> None:
    schedule = BackupSchedule(tmp_path / "backups", 24, 7)
    assert seconds_until_due(schedule) == 0.0
    named(schedule.folder, hours=30)
    assert seconds_until_due(schedule) == 0.0
    named(schedule.folder, hours=20)
    assert seconds_until_due(schedule) == pytest.approx(4 * 3600, abs=WITHIN_A_MINUTE)
    named(schedule.folder, hours=-1000)
    assert seconds_until_due(schedule) == pytest.approx(4 * 3600, abs=WITHIN_A_MINUTE), "whatever a clock was set to"


WITHIN_A_MINUTE = 60


async def test_a_server_makes_one_at_its_start_and_stops_while_one_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    async with serving(tmp_path / "data", "--backup-to", str(folder)):

        def look() -> Path | None:
            return next(folder.glob("arena-*Z.db"), None)

        made = await asyncio.to_thread(found_in, folder, look)
    assert not list(folder.glob("*.part"))
    os.unlink(made)
    async with serving(tmp_path / "data", "--backup-to", str(folder)):
        pass
    assert not list(folder.glob("*.part"))
