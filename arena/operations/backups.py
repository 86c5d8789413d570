"""Backups that a server makes by itself, each in a process of low priority, which is this module as well; the oldest
are removed once a newer one is whole.
"""

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
"""Seconds after which one that failed is tried again."""
_NAME = "arena-%Y-%m-%dT%H%M%SZ.db"
_NAMES = "arena-????-??-??T??????Z.db"

log = logging.getLogger("arena.backups")


class Schedule(NamedTuple):
    """A folder for backups alone, how many hours there are between two, and how many are kept."""

    folder: Path
    hours: int
    keep: int


async def keep_backing_up(file: Path, schedule: Schedule, warnings: Warnings) -> None:
    """Back a database file up when it is time, for ever."""
    while True:
        await asyncio.sleep(due_in(schedule))
        try:
            warnings.tell("backup", await back_up_once(file, schedule))
        except ArenaFault as fault:
            warnings.tell("backup", f"no backup was made in {schedule.folder}: {fault}")
            await asyncio.sleep(RETRY)


def due_in(schedule: Schedule) -> float:
    """Seconds until the next backup is due, by the name of the newest there is."""
    for newest in sorted(schedule.folder.glob(_NAMES), reverse=True):
        with contextlib.suppress(ValueError):
            made = datetime.strptime(newest.name, _NAME).replace(tzinfo=UTC)
            due = made.timestamp() + 3600.0 * schedule.hours - time.time()
            return min(3600.0 * schedule.hours, max(0.0, due))
    return 0.0


async def back_up_once(file: Path, schedule: Schedule) -> str | None:
    """Make a backup and remove those that are too many; what it lacks, if it does. Raises `ArenaFault` where there is
    none.
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
            process.send_signal(signal.SIGINT)  # so that it removes what it has begun
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
    """Make one backup, in this process, and say which files of old records are missing."""
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
