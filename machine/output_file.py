"""Output to paths that a person names. Files are replaced atomically, pipes and devices are written to, and `-` stands
for standard output.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from machine.atomic_write import replacing_file

STDOUT = Path("-")
"""The path that stands for standard output on command lines."""
_BAD_PATH_ADVICE = "name a file in an existing folder"
"""The advice to a user whose file can't be written."""
_MAX_LINKS = 40
"""Maximum number of symbolic links to follow, as in Linux."""
_ORIGINAL_STDOUT: ContextVar[TextIO | None] = ContextVar("_STDOUT", default=None)
"""The original standard output while `text_to_stderr` redirects printed text; else None."""
_DESCRIPTOR_FOLDER_PATTERN = re.compile(r"/proc/(\d+|self|thread-self)(/task/\d+)?/fd|/dev/fd")
"""The pattern of the folders in which Linux lists the open file descriptors of a process."""


def is_stdout(path: Path) -> bool:
    """Return whether a path stands for standard output: `-`, /dev/stdout, or a link to /dev/stdout."""
    return path == STDOUT or _descriptor_of(path) == 1


@contextlib.contextmanager
def text_to_stderr(path: Path | None) -> Iterator[None]:
    """If `path` is standard output, reserve it for data: during the block, printed text goes to standard error."""
    if path is None or not is_stdout(path):
        yield
        return
    token = _ORIGINAL_STDOUT.set(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _ORIGINAL_STDOUT.reset(token)


def why_not_writable(path: Path) -> str | None:
    """Return why a path cannot be written to; None if it can. Nothing is opened."""
    if is_stdout(path) or _descriptor_of(path) is not None:
        return None
    try:
        mode = path.stat().st_mode
    except OSError:
        # A dangling link is filled at its target.
        folder = Path(os.path.realpath(path)).parent
        return None if os.path.isdir(folder) and os.access(folder, os.W_OK) else _BAD_PATH_ADVICE
    if stat.S_ISDIR(mode):
        return _BAD_PATH_ADVICE
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        return "it is a disk or a socket: name a file"
    return None if os.access(path, os.W_OK) else _BAD_PATH_ADVICE


def write_output(path: Path, data: bytes) -> None:
    """Write to a path that a person named. A file is replaced atomically. Raise `OSError` if writing fails."""
    descriptor = 1 if path == STDOUT else _descriptor_of(path)
    if descriptor == 1:
        _write_to_stdout(data)
    elif descriptor is not None:
        with open(os.dup(descriptor), "wb") as file:
            file.write(data)
    elif _is_pipe_or_device(path):
        with path.open("wb", buffering=0) as file:
            _write_all(cast(BinaryIO, file), data)
    else:
        with replacing_file(path) as part:
            part.write_bytes(data)


def _write_to_stdout(data: bytes) -> None:
    stream = _ORIGINAL_STDOUT.get() or sys.stdout
    binary = getattr(stream, "buffer", None)
    if binary is None:  # a text-only stream, as in a notebook
        stream.write(data.decode())
    else:
        stream.flush()
        binary.write(data)
    stream.flush()


def _is_pipe_or_device(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _write_all(file: BinaryIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _descriptor_of(path: Path) -> int | None:
    """Return the file descriptor of this process that a path such as /dev/fd/3 stands for; None for other paths."""
    for _ in range(_MAX_LINKS):
        if path.name.isdecimal() and _DESCRIPTOR_FOLDER_PATTERN.fullmatch(folder := os.path.realpath(path.parent)):
            number = re.match(r"/proc/(\d+)", folder)
            return int(path.name) if number is None or int(number[1]) == os.getpid() else None
        try:
            path = path.parent / path.readlink()
        except OSError:
            return None
    return None
