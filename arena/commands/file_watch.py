"""Restarts a command at every save of a Python file in some folders."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from machine.terminal import say

POLL_INTERVAL_S = 0.2
"""Seconds between two checks whether a file was saved."""
TERMINATE_TIMEOUT_S = 2.0
"""Seconds that a command has to end after SIGTERM before it is killed."""


def run_at_every_save(files: Sequence[Path], command: Sequence[str], note: str) -> None:
    """Run a command until Ctrl-C or SIGTERM, and restart it whenever a Python file in the folders of `files` is saved.

    Print `note` before each wait for a save.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # which would leave the command running
    folders = {file.parent for file in files}
    names = ", ".join(file.name for file in files)
    while True:
        seen = _read_timestamps(folders)
        process = subprocess.Popen(command)  # noqa: S603 - our own
        try:
            waits = False
            while _read_timestamps(folders) == seen:
                if not waits and process.poll() is not None:
                    say(f"arena: waiting for the next save of {names}; Ctrl-C ends ({note})", err=True)
                    waits = True
                time.sleep(POLL_INTERVAL_S)
        finally:
            _end(process)
        while (last := _read_timestamps(folders)) != seen:  # an editor may still be writing
            seen = last
            time.sleep(POLL_INTERVAL_S)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(TERMINATE_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _read_timestamps(folders: Iterable[Path]) -> Mapping[Path, tuple[int, int]]:
    stamps = {}
    for file in (file for folder in folders for file in folder.glob("*.py")):
        with suppress(OSError):  # it may just have been removed
            stat = file.stat()
            stamps[file] = stat.st_mtime_ns, stat.st_size
    return stamps
