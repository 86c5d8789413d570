"""Delays a server's start until its disks have room, and answers clients meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import tempfile
import time
from collections.abc import Collection
from pathlib import Path

from arena.network.listener import ALIVE_PATH
from arena.network.timeouts import NetworkTimeouts
from arena.network.tls import Encryption
from machine.timeouts import scale_timeouts

MIN_FREE_BYTES = 1024 * 1024
"""Free bytes that a start needs."""
CHECK_INTERVAL_S = 1.0
"""Seconds between two checks for room."""
REQUEST_TIMEOUT_S = 5.0
_MESSAGE = b"the arena waits for room on its disk\n"
_HEADERS = b"Content-Type: text/plain\r\nConnection: close\r\n"
_UNAVAILABLE_RESPONSE = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n%sContent-Length: %d\r\n\r\n%s" % (
    _HEADERS,
    len(_MESSAGE),
    _MESSAGE,
)
_ALIVE_RESPONSE = b"HTTP/1.1 200 OK\r\n%sContent-Length: 3\r\n\r\nok\n" % _HEADERS
_DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)

log = logging.getLogger("arena")


async def wait_for_room(
    folders: Collection[Path],
    sockets: Collection[socket.socket],
    encryption: Encryption | None,
    stop: asyncio.Event,
) -> None:
    """Return when each of the folders has room for a start, or `stop` is set.

    Meanwhile answer requests on the sockets, which listen already: 200 to liveness probes, 503 to all others.
    """
    lack = _find_full_folder(folders)
    if lack is None:
        return
    log.error("the start waits for room on the disk; retrying every second: %s", lack)
    began = time.monotonic()
    options = {} if encryption is None else encryption.ssl_options(scale_timeouts(NetworkTimeouts()))
    servers = [await asyncio.start_server(_answer, sock=one.dup(), **options) for one in sockets]
    try:
        while _find_full_folder(folders) is not None and not stop.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_INTERVAL_S):
                    await stop.wait()
    finally:
        for server in servers:
            server.close()
    if not stop.is_set():
        log.warning("the start goes on after %.1f s", time.monotonic() - began)


def _find_full_folder(folders: Collection[Path]) -> str | None:
    """Return which folder has no room, or None. Other problems of a folder are reported by the code that opens it."""
    for folder in folders:
        try:
            with tempfile.TemporaryFile(dir=folder) as probe:
                if os.write(probe.fileno(), bytes(MIN_FREE_BYTES)) < MIN_FREE_BYTES:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as exc:
            if exc.errno in _DISK_FULL_ERRNOS:
                return f"{folder}: {exc.strerror}"
    return None


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request while the arena waits for room."""
    with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            request = await reader.readuntil(b"\r\n\r\n")
            writer.write(
                _ALIVE_RESPONSE if request.startswith(f"GET {ALIVE_PATH} ".encode()) else _UNAVAILABLE_RESPONSE
            )
            await writer.drain()
    writer.close()
