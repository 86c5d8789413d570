"""Hands in the logs of matches, which the clients of hosted bots leave in folders of the runner, one for a version."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import msgspec

from arena.operator.client import NoServer, NoServerAnswer
from arena.operator.hosting import ReportMatchLog
from protocol.errors import Fault
from protocol.match_logs import LOG_ENDING, MatchLog
from protocol.names import fold_name

HAND_IN_INTERVAL_S = 1.0
"""Seconds between two looks for new logs."""
FOLDER_NAME = "matches"
"""The name of the folder of all logs that were not handed in yet."""
MAX_LOG_FILE_BYTES = 1024 * 1024
"""Maximum bytes of the file of a log: the client writes no larger ones."""

log = logging.getLogger("arena.runner")


def folder_of_version(folder: Path, bot: str, number: int) -> Path:
    """Return the folder, within the folder of the runner, in which the client of a bot's version leaves logs."""
    return folder / FOLDER_NAME / f"{number}.{fold_name(bot)}"


async def hand_in_logs(folder: Path, ask: Callable[[ReportMatchLog], Awaitable[object]]) -> None:
    """Hand in each log that clients leave in the folder of the runner, again and again, until cancelled.

    A log that the arena refuses is lost. While the arena does not answer, logs wait.
    """
    while True:
        with contextlib.suppress(NoServer, NoServerAnswer):
            await hand_in_present_logs(folder, ask)
        await asyncio.sleep(HAND_IN_INTERVAL_S)


async def hand_in_present_logs(folder: Path, ask: Callable[[ReportMatchLog], Awaitable[object]]) -> None:
    """Hand in the logs that are there now. Raise `NoServer` or `NoServerAnswer` if the arena does not answer."""
    for file, report in _find_logs(folder / FOLDER_NAME):
        try:
            await ask(report)
        except (NoServer, NoServerAnswer):
            raise
        except Fault as fault:
            log.warning("the log %s is lost: %s", file, fault)
        file.unlink(missing_ok=True)


def _find_logs(folder: Path) -> Iterator[tuple[Path, ReportMatchLog]]:
    for file in sorted(folder.glob(f"*.*/*{LOG_ENDING}")):
        number, _, bot = file.parent.name.partition(".")
        try:
            if file.stat().st_size > MAX_LOG_FILE_BYTES:
                raise ValueError("it is too large")
            found = msgspec.json.decode(file.read_bytes(), type=MatchLog)
            report = ReportMatchLog(bot=bot, number=int(number), log=found)
        except (OSError, ValueError) as exc:
            log.warning("the log %s can't be read: %s", file, exc)
            file.unlink(missing_ok=True)
            continue
        yield file, report
