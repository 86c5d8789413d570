"""A log of bounded size for a program's output, which arrives through a pipe. One older file is kept."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

MIN_ROTATION_INTERVAL_S = 1.0
"""Minimum seconds between two rotations of a log. A program that fills the log faster is blocked until then."""
_READ_CHUNK_BYTES = 64 * 1024
"""The maximum number of bytes that are read from a program's output at a time."""


class BoundedLog:
    """Writes the data from `pipe` to a file of at most `max_bytes` bytes. A full file is renamed to `FILE.1`.

    Data that cannot be written, for example because the disk is full, is dropped, so that the program is not blocked.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._most = max_bytes
        self._rotated_at = -MIN_ROTATION_INTERVAL_S
        self._read, self.pipe = os.pipe()
        os.set_inheritable(self._read, False)
        self._thread = threading.Thread(target=self._copy_output, daemon=True)

    def start(self) -> None:
        """Start to write the log. Close this process's copy of the end of the pipe to which the program writes."""
        os.close(self.pipe)
        self._thread.start()

    def wait_until_written(self) -> None:
        """Wait until all output is in the file. Call it when every writer has closed, or will close, the pipe."""
        self._thread.join()

    def _copy_output(self) -> None:
        while data := os.read(self._read, _READ_CHUNK_BYTES):
            with contextlib.suppress(OSError):
                while data:
                    data = self._write(data)

    def _write(self, data: bytes) -> bytes:
        """Write as much data as fits in the file, and return the rest. If the file is full, rotate it instead.

        Raise `OSError` if the file cannot be written.
        """
        with self._path.open("ab", buffering=0) as file:
            room = self._most - file.tell()
            if room > 0:
                return data[file.write(data[:room]) :]
        time.sleep(max(0.0, self._rotated_at + MIN_ROTATION_INTERVAL_S - time.monotonic()))
        self._rotated_at = time.monotonic()
        self._path.rename(f"{self._path}.1")
        return data
