"""Delays a server's start until its disks have enough free space, and answers clients meanwhile."""

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
from machine.event_loop import wait_within
from machine.timeouts import scale_timeouts

MIN_FREE_BYTES = 1024 * 1024
"""Free bytes that a server needs on the disk of each of its folders to start."""
CHECK_INTERVAL_S = 1.0
"""Seconds between two checks whether the disks have enough free space."""
REQUEST_TIMEOUT_S = 5.0
"""Seconds that a client has to send its request and receive the response, while the arena waits for disk space."""
_WAITING_MESSAGE = b"the arena waits for room on its disk\n"
"""The body of the HTTP responses that say that the arena waits for disk space."""
_RESPONSE_HEADERS = b"Content-Type: text/plain\r\nConnection: close\r\n"
"""The headers of all HTTP responses while the arena waits for disk space."""
_UNAVAILABLE_RESPONSE = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n%sContent-Length: %d\r\n\r\n%s" % (
    _RESPONSE_HEADERS,
    len(_WAITING_MESSAGE),
    _WAITING_MESSAGE,
)
"""The HTTP response to all requests but health checks while the arena waits for disk space."""
_ALIVE_RESPONSE = b"HTTP/1.1 200 OK\r\n%sContent-Length: 3\r\n\r\nok\n" % _RESPONSE_HEADERS
"""The HTTP response that says that the process is alive, while the arena waits for disk space."""
_DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
"""The error numbers of a full disk and of a used-up disk quota."""

log = logging.getLogger("arena")


async def wait_for_room(
    folders: Collection[Path],
    sockets: Collection[socket.socket],
    encryption: Encryption | None,
    stop: asyncio.Event,
) -> None:
    """Return when each of the folders has `MIN_FREE_BYTES` free, or `stop` is set.

    Meanwhile answer HTTP requests on the listening sockets: 200 to liveness probes, 503 to all other requests.
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
            await wait_within(stop.wait(), CHECK_INTERVAL_S)
    finally:
        for server in servers:
            server.close()
    if not stop.is_set():
        log.warning("the start goes on after %.1f s", time.monotonic() - began)


def _find_full_folder(folders: Collection[Path]) -> str | None:
    """Return a message about the first folder whose disk lacks `MIN_FREE_BYTES` free bytes; None if there is none."""
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
    with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            request = await reader.readuntil(b"\r\n\r\n")
            writer.write(
                _ALIVE_RESPONSE if request.startswith(f"GET {ALIVE_PATH} ".encode()) else _UNAVAILABLE_RESPONSE
            )
            await writer.drain()
    writer.close()
