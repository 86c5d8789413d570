"""The log of a program that comes through a pipe, in a file of bounded size and the one before it."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

AT_LEAST = 1.0
"""Seconds that a file lasts: whoever writes faster than that has to wait, and costs nobody else anything."""
_PIECE = 64 * 1024


class BoundedLog:
    """What is written to `pipe` goes to a file of at most so many bytes; when it is full it becomes `FILE.1`.

    What can't be written, as on a full disk, is dropped, so that it holds nobody up.
    """

    def __init__(self, path: Path, most: int) -> None:
        self._path = path
        self._most = most
        self._full_at = -AT_LEAST
        self._read, self.pipe = os.pipe()
        os.set_inheritable(self._read, False)
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def begin(self) -> None:
        """Write the log from now on; the pipe is to be held by the program alone."""
        os.close(self.pipe)
        self._thread.start()

    def end(self) -> None:
        """Return when all that was written is in the file. Nobody may hold the pipe any more."""
        self._thread.join()

    def _follow(self) -> None:
        while data := os.read(self._read, _PIECE):
            with contextlib.suppress(OSError):
                while data:
                    data = self._put(data)

    def _put(self, data: bytes) -> bytes:
        """Write what there is room for; the rest. Raises `OSError`."""
        with self._path.open("ab", buffering=0) as file:
            room = self._most - file.tell()
            if room > 0:
                return data[file.write(data[:room]) :]
        time.sleep(max(0.0, self._full_at + AT_LEAST - time.monotonic()))
        self._full_at = time.monotonic()
        self._path.rename(f"{self._path}.1")
        return data
