"""Scheduled backups of a server's database. This module is also the process of low priority that makes a backup."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from arena.server.warnings import Warnings
from arena.store.backup import back_up, remove_copy
from arena.store.data_folder import FOLDER_MODE
from arena.store.sqlite_database import SqliteDatabase
from machine.run_program import run_program
from machine.subprocesses import describe_exit, die_with_parent, renice
from machine.terminal import say
from protocol.display import list_first
from protocol.errors import ArenaFault, Fault

BACKUP_NICENESS = 19
"""The niceness of a process that makes a backup."""
RETRY_DELAY_S = 600.0
"""Seconds after a failed backup until the next attempt."""
_BACKUP_NAME_FORMAT = "arena-%Y-%m-%dT%H%M%SZ.db"
_BACKUP_NAME_PATTERN = "arena-????-??-??T??????Z.db"

log = logging.getLogger("arena.backups")


class BackupSchedule(NamedTuple):
    """A schedule of backups: the folder (for backups only), the hours between two backups, and the number to keep."""

    folder: Path
    interval_hours: int
    max_backups: int


async def run_backups(file: Path, schedule: BackupSchedule, warnings: Warnings) -> None:
    """Back up a database file on schedule, without end."""
    while True:
        await asyncio.sleep(seconds_until_due(schedule))
        try:
            warnings.update("backup", await back_up_once(file, schedule))
        except ArenaFault as fault:
            warnings.update("backup", f"no backup was made in {schedule.folder}: {fault}")
            await asyncio.sleep(RETRY_DELAY_S)


def seconds_until_due(schedule: BackupSchedule) -> float:
    """Return the seconds until the next backup is due. The name of the newest backup says when it was made. Backups of
    the future, from before the clock was set back, do not count.
    """
    _, made_so_far = _find_backups(schedule.folder)
    for newest in reversed(made_so_far):
        with contextlib.suppress(ValueError):
            made = datetime.strptime(newest.name, _BACKUP_NAME_FORMAT).replace(tzinfo=UTC)
            due = made.timestamp() + 3600.0 * schedule.interval_hours - time.time()
            return min(3600.0 * schedule.interval_hours, max(0.0, due))
    return 0.0


async def back_up_once(file: Path, schedule: BackupSchedule) -> str | None:
    """Make a backup, then remove the oldest ones until only `max_backups` are left. Raise `ArenaFault` if that fails.

    Return a warning if archive files were missing, else None.
    """
    to = schedule.folder / datetime.now(UTC).strftime(_BACKUP_NAME_FORMAT)
    try:
        schedule.folder.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        command = (sys.executable, "-m", "arena.operations.backups", str(file), str(to))
        end = await run_program(*command, end_signal=signal.SIGINT)  # lets it remove the partial backup
    except OSError as exc:
        raise ArenaFault(f"{exc.filename or schedule.folder}: {exc.strerror}") from exc
    if end.code != 0:
        raise ArenaFault(end.last_error or f"its process {describe_exit(end.code)}")
    log.info("made the backup %s", to)
    await asyncio.to_thread(_remove_oldest, schedule)
    missing = end.output.decode().strip()
    return f"the backup {to} lacks old records, whose files are missing: {missing}" if missing else None


def _remove_oldest(schedule: BackupSchedule) -> None:
    of_future, made_so_far = _find_backups(schedule.folder)
    for old in [*of_future, *made_so_far][: -schedule.max_backups]:
        with contextlib.suppress(OSError):
            remove_copy(old)


def _find_backups(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the backups in a folder whose names are of the future, and the others, both by their times."""
    now = datetime.now(UTC).strftime(_BACKUP_NAME_FORMAT)
    found = sorted(folder.glob(_BACKUP_NAME_PATTERN))
    return [one for one in found if one.name > now], [one for one in found if one.name <= now]


def main() -> None:
    """Make one backup in this process, and print which archive files are missing."""
    die_with_parent()
    renice(BACKUP_NICENESS)
    file, to = sys.argv[1:]
    try:
        missing = back_up(SqliteDatabase(Path(file)), Path(to)).missing
        if missing:
            say(list_first(missing))
    except Fault as fault:
        raise SystemExit(str(fault)) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
