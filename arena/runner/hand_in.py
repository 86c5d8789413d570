"""Hands in the logs of matches, which the clients of hosted bots leave in folders of the runner, one for a version."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from arena.hosting.limits import CACHE_DAYS, DAY_S
from arena.operator.bot_files import StoreMatchLog, UploadFilePart
from arena.operator.client import NoServer, NoServerAnswer
from machine.atomic_write import replacing_file
from protocol.errors import Fault, UsageFault
from protocol.match_logs import LOG_ENDING, OPEN_LOG_ENDING, MatchLog
from protocol.names import fold_name

HAND_IN_INTERVAL_S = 1.0
"""Seconds between two looks for what is new."""
FOLDER_NAME = "matches"
"""The name of the folder of all logs that were not handed in yet."""
FILE_PART_BYTES = 16 * 1024
"""Bytes of each part of a file that is handed in: 10 KB/s are enough for signs of life."""
MAX_LOG_FILE_BYTES = 1024 * 1024
"""Maximum bytes of the file of a log: the client writes no larger ones."""
CLIENT_LOG_ENDING = ".log"
"""The ending of the name of a client's log, which is called like the bot. An older part of it has a further one."""
Ask = Callable[[Any, type[Any]], Awaitable[Any]]
"""The type of a function that returns the arena's answer to a request, of this type."""

log = logging.getLogger("arena.runner")


def folder_of_version(folder: Path, bot: str, number: int) -> Path:
    """Return the folder, within the folder of the runner, in which the client of a bot's version leaves logs."""
    return folder / FOLDER_NAME / f"{number}.{fold_name(bot)}"


def read_log(folder: Path) -> MatchLog | None:
    """Return the log that the client of a single match has left in a folder; None if the program wrote nothing and did
    not fail.
    """
    for ending in (LOG_ENDING, OPEN_LOG_ENDING):
        for file in folder.glob(f"*{ending}"):
            return msgspec.json.decode(file.read_bytes(), type=MatchLog)
    return None


def move_log(logs: Path, folder: Path, bot: str, number: int) -> None:
    """Move the log of a single match, if there is one, to the logs of a bot's version in the folder of the runner. If
    that fails, the log is lost.
    """
    try:
        if match_log := read_log(logs):
            version = folder_of_version(folder, bot, number)
            version.mkdir(parents=True, exist_ok=True, mode=0o700)
            with replacing_file(version / f"{match_log.match}{LOG_ENDING}") as part:
                part.write_bytes(msgspec.json.encode(match_log))
    except (OSError, msgspec.MsgspecError) as exc:
        log.warning("the log of a match of %s is lost: %s", bot, exc)


def tidy_folders(folder: Path) -> None:
    """End the logs that clients of an earlier run left open in the folder of the runner, and remove empty folders. Call
    this while no client runs.
    """
    for file in folder.glob(f"{FOLDER_NAME}/*.*/*{OPEN_LOG_ENDING}"):
        with contextlib.suppress(OSError):
            file.replace(file.with_suffix(LOG_ENDING))
    for version in folder.glob(f"{FOLDER_NAME}/*.*"):
        with contextlib.suppress(OSError):
            version.rmdir()


def remove_old_logs(logs: Path, is_running: Callable[[str], bool]) -> None:
    """Remove the logs of clients to which nothing was added for `CACHE_DAYS`, also those of bots that were deleted. A
    log of a bot that runs, by folded name, is kept.
    """
    since = time.time() - CACHE_DAYS * DAY_S
    for file in logs.glob(f"*{CLIENT_LOG_ENDING}*"):
        bot = file.name.rpartition(CLIENT_LOG_ENDING)[0]
        with contextlib.suppress(OSError):
            if file.stat().st_mtime < since and not is_running(fold_name(bot)):
                file.unlink()


async def upload_file(ask: Ask, content: bytes) -> str:
    """Send a file to the arena, part by part, and return the name of the upload. Raise `Fault` if that fails."""
    upload = secrets.token_hex(16)
    for at in range(0, len(content), FILE_PART_BYTES):
        await ask(UploadFilePart(upload=upload, data=content[at : at + FILE_PART_BYTES]), object)
    return upload


async def hand_in_logs(folder: Path, ask: Ask) -> Fault | None:
    """Hand in each log that clients have left in the folder of the runner. A log that the arena refuses is lost.

    Logs wait if the arena can't store them, as its disk is full: return why. They wait, too, if it does not answer:
    raise `NoServer` or `NoServerAnswer`.
    """
    why = None
    for found in await asyncio.to_thread(list, find_logs(folder)):
        try:
            upload = await upload_file(ask, found.packed)
            await ask(StoreMatchLog(bot=found.bot, number=found.number, upload=upload), object)
        except (NoServer, NoServerAnswer):
            raise
        except UsageFault as fault:
            log.warning("the log %s is lost: %s", found.file, fault)
        except Fault as fault:
            why = fault
            continue
        found.file.unlink(missing_ok=True)
    return why


class FoundLog(NamedTuple):
    """The file with the log of a match, the folded name of the bot, its version's number, and the packed log."""

    file: Path
    bot: str
    number: int
    packed: bytes


def find_logs(folder: Path) -> Iterator[FoundLog]:
    """Yield the logs that clients have left in the folder of the runner. A file that is none is removed."""
    for file in sorted(folder.glob(f"{FOLDER_NAME}/*.*/*{LOG_ENDING}")):
        number, _, bot = file.parent.name.partition(".")
        try:
            if file.stat().st_size > MAX_LOG_FILE_BYTES:
                raise ValueError("it is too large")
            data = file.read_bytes()
            msgspec.json.decode(data, type=MatchLog)
            yield FoundLog(file, bot, int(number), zlib.compress(data))
        except (OSError, ValueError) as exc:
            log.warning("the log %s can't be read: %s", file, exc)
            file.unlink(missing_ok=True)
