"""Files that a person wrote or saved, read within bounds of size and time, in whatever encoding an editor chose."""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
import time
from pathlib import Path

from machine.text_encoding import decode

MAX_BYTES = 16 * 1024 * 1024
"""Of a file that a person writes."""
PIPE_TIMEOUT_S = 10.0
"""Within this time a pipe has to give all that it has: one into which nobody writes would be waited for in vain."""
_CHUNK_BYTES = 64 * 1024


def read_text(path: Path) -> str:
    """Return what is written in a file. Raises `OSError`, and `UnicodeDecodeError` for what is not text in Unicode."""
    return decode(read_bytes(path))


def read_bytes(path: Path, most: int = MAX_BYTES, timeout_s: float = PIPE_TIMEOUT_S) -> bytes:
    """Return a file, or what comes out of a pipe within a time; of either no more than `most` bytes and one.

    Raises `OSError`, `TimeoutError` among them.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb", buffering=0) as file:
        if sys.platform == "win32" or stat.S_ISREG(os.fstat(descriptor).st_mode):
            return _all_of(file.fileno(), most)
        return _within(file.fileno(), most, time.monotonic() + timeout_s)


def _all_of(descriptor: int, most: int) -> bytes:
    read = bytearray()
    while len(read) <= most and (chunk := os.read(descriptor, min(_CHUNK_BYTES, most + 1 - len(read)))):
        read += chunk
    return bytes(read)


def _within(descriptor: int, most: int, deadline: float) -> bytes:
    read = bytearray()
    while len(read) <= most:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            raise TimeoutError(errno.ETIMEDOUT, "it is a pipe or device that does not come to an end")
        try:
            chunk = os.read(descriptor, min(_CHUNK_BYTES, most + 1 - len(read)))
        except BlockingIOError:
            continue
        if not chunk:
            break
        read += chunk
    return bytes(read)
