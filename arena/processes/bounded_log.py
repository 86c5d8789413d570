"""A log of bounded size for a program's output, which arrives through a pipe; one older file is kept."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

AT_LEAST = 1.0
"""Minimum seconds between two rotations; a program that writes faster is blocked meanwhile."""
_PIECE = 64 * 1024


class BoundedLog:
    """Writes the data from `pipe` to a file of at most `most` bytes; a full file is renamed to `FILE.1`.

    Data that cannot be written, as on a full disk, is dropped, so that the program never blocks.
    """

    def __init__(self, path: Path, most: int) -> None:
        self._path = path
        self._most = most
        self._full_at = -AT_LEAST
        self._read, self.pipe = os.pipe()
        os.set_inheritable(self._read, False)
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def begin(self) -> None:
        """Start to write the log, and close this process's end of the pipe, which only the program may keep."""
        os.close(self.pipe)
        self._thread.start()

    def end(self) -> None:
        """Wait until all output is in the file. Every writer must have closed the pipe."""
        self._thread.join()

    def _follow(self) -> None:
        while data := os.read(self._read, _PIECE):
            with contextlib.suppress(OSError):
                while data:
                    data = self._put(data)

    def _put(self, data: bytes) -> bytes:
        """Write as much as fits, and return the rest. Raises `OSError`."""
        with self._path.open("ab", buffering=0) as file:
            room = self._most - file.tell()
            if room > 0:
                return data[file.write(data[:room]) :]
        time.sleep(max(0.0, self._full_at + AT_LEAST - time.monotonic()))
        self._full_at = time.monotonic()
        self._path.rename(f"{self._path}.1")
        return data
