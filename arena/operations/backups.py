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
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from arena.server.warnings import Warnings
from arena.store.backup import back_up
from arena.store.data_folder import FOLDER
from arena.store.sqlite_database import SqliteDatabase
from machine.subprocesses import be_nice, die_with_parent, ending
from protocol.errors import Fault

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
        fault = await back_up_once(file, schedule)
        warnings.tell("backup", None if fault is None else f"no backup was made in {schedule.folder}: {fault}")
        if fault is not None:
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
    """Make a backup and remove those that are too many; what went wrong."""
    to = schedule.folder / datetime.now(UTC).strftime(_NAME)
    try:
        schedule.folder.mkdir(parents=True, exist_ok=True, mode=FOLDER)
        command = (sys.executable, "-m", "arena.operations.backups", str(file), str(to))
        quiet = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *command, stdin=quiet, stdout=quiet, stderr=asyncio.subprocess.PIPE
        )
    except OSError as exc:
        return f"{exc.filename or schedule.folder}: {exc.strerror}"
    try:
        _, said = await process.communicate()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)  # so that it removes what it has begun
        await process.wait()
        raise
    if process.returncode != 0:
        lines = said.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"its process {ending(process.returncode or 0)}"
    log.info("made the backup %s", to)
    for old in sorted(schedule.folder.glob(_NAMES))[: -schedule.keep]:
        with contextlib.suppress(OSError):
            old.unlink()
    return None


def main() -> None:
    """Make one backup, in this process."""
    die_with_parent()
    be_nice(NICE)
    file, to = sys.argv[1:]
    try:
        back_up(SqliteDatabase(Path(file)), Path(to))
    except Fault as fault:
        raise SystemExit(str(fault)) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
