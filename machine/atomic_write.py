"""Files and folders that take another's place whole or not at all, or are on disk; locks, for one process at a time."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """A file beside `path`, or beside what that links to, which takes its place in the end, or is removed.

    Raises `OSError` where `path` is a pipe, a device or a socket, which no file may replace.
    """
    check_replaceable(path)
    temporary = _beside(path, "part")
    try:
        yield temporary
        os.replace(temporary, os.path.realpath(path))
    except BaseException:
        _remove(temporary)
        raise


def check_replaceable(path: Path) -> None:
    """Raise `OSError` where there is something at `path`, or at the end of its links, that is no file and no folder."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # who writes there is told what is wrong
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a pipe, a device or a socket, and not a file", str(path))


@contextlib.contextmanager
def folder_in_place_of(path: Path) -> Iterator[Path]:
    """An empty folder beside `path`, which takes its place in the end, or is removed with all that is in it.

    Raises `FileExistsError` where `path` is anything but an empty folder, before and in the end.
    """
    place = Path(os.path.realpath(path))
    if os.path.lexists(place) and not (place.is_dir() and not any(place.iterdir())):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    temporary = place.with_name(f"{place.name}.{os.getpid()}.part")
    temporary.mkdir()
    try:
        yield temporary
        try:
            temporary.rename(place)
        except OSError as exc:
            if exc.errno in (errno.ENOTEMPTY, errno.ENOTDIR):  # what is in the way is there already, whatever it is
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), exc.filename2) from exc
            raise
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from locking the same file: a lock beside it, which ends with this process at the latest.

    Raises `BlockingIOError` where another one has it, `OSError` where there can be none. Windows goes without.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    lock = _beside(path, "lock")
    with contextlib.ExitStack() as held:
        file = held.enter_context(lock.open("a")).fileno()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file).st_nlink == 0:
            raise BlockingIOError("since it was opened, who had it has removed it")
        held.callback(_remove, lock)
        yield


def _beside(path: Path, ending: str) -> Path:
    """A file beside `path`, or beside what that links to."""
    place = Path(os.path.realpath(path))
    return place.with_name(f"{place.name}.{ending}")


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
