"""A command that is run anew at every save of some Python files, or of others beside them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from machine.terminal import say

LOOK_EVERY = 0.2
"""Seconds."""
ENDS_WITHIN = 2.0
"""Seconds after which a command that was asked to end is killed."""


def again_at_every_save(files: Sequence[Path], command: Sequence[str], note: str) -> None:
    """Run the command, and anew whenever one of the files was saved, until Ctrl-C; `note` is said while it waits."""
    folders = {file.parent for file in files}
    names = ", ".join(file.name for file in files)
    while True:
        seen = _stamps(folders)
        process = subprocess.Popen(command)  # noqa: S603 - our own
        try:
            waits = False
            while _stamps(folders) == seen:
                if not waits and process.poll() is not None:
                    say(f"arena: waiting for the next save of {names}; Ctrl-C ends ({note})", err=True)
                    waits = True
                time.sleep(LOOK_EVERY)
        finally:
            _end(process)
        while (last := _stamps(folders)) != seen:  # an editor may be writing still
            seen = last
            time.sleep(LOOK_EVERY)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _stamps(folders: Iterable[Path]) -> Mapping[Path, tuple[int, int]]:
    """When each Python file of the folders was changed last, and its size."""
    stamps = {}
    for file in (file for folder in folders for file in folder.glob("*.py")):
        with suppress(OSError):  # it has just been removed
            stat = file.stat()
            stamps[file] = stat.st_mtime_ns, stat.st_size
    return stamps
