"""How tests wait for what another process or the other end of a connection does."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

WITHIN = 120.0
"""Seconds in which everything comes that comes at all, on the busiest machine: a guard against waiting for ever."""
BUSY_ENVIRON = {"ARENA_MAX_NICENESS": "1"}
"""Has background processes run on a busy machine too, where one of the lowest priority may wait for minutes."""
PATIENT_ENVIRON = {"ARENA_TIMEOUT_FACTOR": "10", **BUSY_ENVIRON}
"""Has programs of the project wait for each other ten times as long as usual, so that a busy machine fails no test."""
_MOMENT = 0.2
_MODIFIED, _MOVED_TO = 0x02, 0x80


def found_in(folder: Path, look: Callable[[], T | None]) -> T:
    """What `look` finds in the folder; it looks again whenever a file there has changed, as inotify tells, and a moment
    after that: what a database has committed is seen a little later than its file has changed.
    """
    libc = ctypes.CDLL(None)
    with open(libc.inotify_init1(0), "rb", buffering=0) as changes:
        libc.inotify_add_watch(changes.fileno(), os.fsencode(folder), _MODIFIED | _MOVED_TO)
        patient_until = time.monotonic() + WITHIN
        while (found := look()) is None:
            if select.select([changes], [], [], _MOMENT)[0]:
                changes.read(65536)
                patient_until = time.monotonic() + WITHIN
            assert time.monotonic() < patient_until, f"nothing changes in {folder}"
        return found


async def rest_of(reader: asyncio.StreamReader) -> bytes:
    """What still comes on a connection until it ends, be it by a reset."""
    said = b""
    async with asyncio.timeout(WITHIN):
        with contextlib.suppress(ConnectionResetError):
            while data := await reader.read(2**16):
                said += data
    return said
