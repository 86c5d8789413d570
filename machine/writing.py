"""A file that takes another's place whole or not at all, and a lock beside one, for one process at a time."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """A file beside `path`, or beside what that links to, which takes its place in the end, or is removed."""
    temporary = _beside(path, "part")
    try:
        yield temporary
        os.replace(temporary, os.path.realpath(path))
    except BaseException:
        _remove(temporary)
        raise


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
