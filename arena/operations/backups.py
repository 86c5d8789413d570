"""Scheduled backups, each made by this module in a process of low priority, after which the oldest are removed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from arena.server.warnings import Warnings
from arena.store.backup import back_up, remove_copy
from arena.store.data_folder import FOLDER
from arena.store.sqlite_database import SqliteDatabase
from machine.subprocesses import be_nice, die_with_parent, ending
from machine.terminal import say
from protocol.display import few
from protocol.errors import ArenaFault, Fault

NICE = 19
RETRY = 600.0
"""Seconds until a failed backup is tried again."""
_NAME = "arena-%Y-%m-%dT%H%M%SZ.db"
_NAMES = "arena-????-??-??T??????Z.db"

log = logging.getLogger("arena.backups")


class Schedule(NamedTuple):
    """A folder only for backups, the hours between two, and how many to keep."""

    folder: Path
    hours: int
    keep: int


async def keep_backing_up(file: Path, schedule: Schedule, warnings: Warnings) -> None:
    """Back up a database file on schedule, without end."""
    while True:
        await asyncio.sleep(due_in(schedule))
        try:
            warnings.tell("backup", await back_up_once(file, schedule))
        except ArenaFault as fault:
            warnings.tell("backup", f"no backup was made in {schedule.folder}: {fault}")
            await asyncio.sleep(RETRY)


def due_in(schedule: Schedule) -> float:
    """Return the seconds until the next backup is due, from the name of the newest one."""
    for newest in sorted(schedule.folder.glob(_NAMES), reverse=True):
        with contextlib.suppress(ValueError):
            made = datetime.strptime(newest.name, _NAME).replace(tzinfo=UTC)
            due = made.timestamp() + 3600.0 * schedule.hours - time.time()
            return min(3600.0 * schedule.hours, max(0.0, due))
    return 0.0


async def back_up_once(file: Path, schedule: Schedule) -> str | None:
    """Make a backup and remove the oldest beyond the schedule's number. Raises `ArenaFault` if it fails. Return a line
    about missing archive files, or None.
    """
    to = schedule.folder / datetime.now(UTC).strftime(_NAME)
    try:
        schedule.folder.mkdir(parents=True, exist_ok=True, mode=FOLDER)
        command = (sys.executable, "-m", "arena.operations.backups", str(file), str(to))
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    except OSError as exc:
        raise ArenaFault(f"{exc.filename or schedule.folder}: {exc.strerror}") from exc
    try:
        missing, said = await process.communicate()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)  # lets it remove the partial backup
        await process.wait()
        raise
    if process.returncode != 0:
        lines = said.decode(errors="replace").strip().splitlines()
        raise ArenaFault(lines[-1] if lines else f"its process {ending(process.returncode or 0)}")
    log.info("made the backup %s", to)
    await asyncio.to_thread(_remove_oldest, schedule)
    return (
        f"the backup {to} lacks old records, whose files are missing: {missing.decode().strip()}" if missing else None
    )


def _remove_oldest(schedule: Schedule) -> None:
    for old in sorted(schedule.folder.glob(_NAMES))[: -schedule.keep]:
        with contextlib.suppress(OSError):
            remove_copy(old)


def main() -> None:
    """Make one backup in this process, and print which archive files are missing."""
    die_with_parent()
    be_nice(NICE)
    file, to = sys.argv[1:]
    try:
        missing = back_up(SqliteDatabase(Path(file)), Path(to)).missing
        if missing:
            say(few(missing))
    except Fault as fault:
        raise SystemExit(str(fault)) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
