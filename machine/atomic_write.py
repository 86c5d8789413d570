"""Atomic replacement of files and folders, flushing to disk, and locks between processes."""

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
def replacing_file(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces `path` at the end of the block. It is beside `path`, or beside
    the target if `path` is a link.

    On an exception the temporary file is removed instead. Raise `OSError` if `path` is a pipe, a device or a socket,
    because a file must not replace these.
    """
    check_replaceable(path)
    temporary = _sibling(path, "part")
    try:
        yield temporary
        os.replace(temporary, os.path.realpath(path))
    except BaseException:
        _remove(temporary)
        raise


def write_new_file(path: Path, data: bytes) -> None:
    """Write a file that does not exist yet. Raise `FileExistsError` if it does, and `OSError` if it can't be written
    whole; then there is none.
    """
    with path.open("xb") as file:
        try:
            file.write(data)
            file.flush()
        except BaseException:
            _remove(path)
            raise


def check_replaceable(path: Path) -> None:
    """Raise `OSError` if something other than a file or a folder exists at `path`, after following links."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # writing there will report the fault
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a pipe, a device or a socket, not a file", str(path))


@contextlib.contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`. At the end of the block it is renamed to `path`; on an exception it is
    removed.

    Raise `FileExistsError` if something other than an empty folder is at `path` when the block begins or ends.
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
            if exc.errno in (errno.ENOTEMPTY, errno.ENOTDIR):  # something has been created there meanwhile
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), exc.filename2) from exc
            raise
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def flush_to_disk(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextlib.contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Lock a file against other processes during the block, by means of a lock file beside it. The lock also ends with
    this process.

    Raise `BlockingIOError` if another process holds the lock, and `OSError` if no lock file can be made. On Windows,
    nothing is locked.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    lock = _sibling(path, "lock")
    with contextlib.ExitStack() as held:
        file = held.enter_context(lock.open("a")).fileno()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file).st_nlink == 0:
            raise BlockingIOError("its owner has removed it since it was opened")
        held.callback(_remove, lock)
        yield


def _sibling(path: Path, suffix: str) -> Path:
    place = Path(os.path.realpath(path))
    return place.with_name(f"{place.name}.{suffix}")


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
