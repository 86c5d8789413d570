"""Reading of files that a person wrote, with limits of size and time, in any Unicode encoding."""

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
"""Maximum size of a file that a person writes."""
PIPE_TIMEOUT_S = 10.0
"""Seconds in which a pipe must deliver all its data; one without a writer would block for ever."""
_CHUNK_BYTES = 64 * 1024


def read_text(path: Path) -> str:
    """Return the text of a file. Raises `OSError`, and `UnicodeDecodeError` for what is not Unicode text."""
    return decode(read_bytes(path))


def read_bytes(path: Path, most: int | None = None, timeout_s: float = PIPE_TIMEOUT_S) -> bytes:
    """Return the content of a file or a pipe.

    Raises `OSError`, also for more than `most` bytes (by default `MAX_BYTES`) and for a pipe that does not end in time.
    """
    most = MAX_BYTES if most is None else most
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb", buffering=0) as file:
        if sys.platform == "win32" or stat.S_ISREG(os.fstat(descriptor).st_mode):
            read = _all_of(file.fileno(), most)
        else:
            read = _within(file.fileno(), most, time.monotonic() + timeout_s)
    if len(read) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes")
    return read


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
