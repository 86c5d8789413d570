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
"""Default maximum size of a file that a person wrote, in bytes."""
PIPE_TIMEOUT_S = 10.0
"""Seconds within which a pipe must deliver all its data. Otherwise, a pipe without a writer would be read for ever."""
_CHUNK_BYTES = 64 * 1024
"""Bytes that are read at a time."""


def read_text(path: Path) -> str:
    """Return the text of a file. Raise `OSError` if it cannot be read, `UnicodeDecodeError` if it is not Unicode."""
    return decode(read_bytes(path))


def read_bytes(path: Path, max_bytes: int | None = None, timeout_s: float = PIPE_TIMEOUT_S) -> bytes:
    """Return the content of a file or a pipe.

    Raise `OSError` if it cannot be read, has more than `max_bytes` bytes (default: `MAX_BYTES`), or is a pipe that does
    not end within `timeout_s` seconds.
    """
    max_bytes = MAX_BYTES if max_bytes is None else max_bytes
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb", buffering=0):
        is_file = sys.platform == "win32" or stat.S_ISREG(os.fstat(descriptor).st_mode)
        read = _read(descriptor, max_bytes, None if is_file else time.monotonic() + timeout_s)
    if len(read) > max_bytes:
        raise OSError(errno.EFBIG, f"it has more than {max_bytes} bytes")
    return read


def _read(descriptor: int, most: int, deadline: float | None) -> bytes:
    """Read up to one byte more than `most`; from a pipe, until the `deadline`."""
    read = bytearray()
    while len(read) <= most:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError(errno.ETIMEDOUT, "it is a pipe or device without an end")
        try:
            chunk = os.read(descriptor, min(_CHUNK_BYTES, most + 1 - len(read)))
        except BlockingIOError:
            continue
        if not chunk:
            break
        read += chunk
    return bytes(read)
