"""A lock on an open file, exclusive or shared between processes; it ends with the file or the process."""

from __future__ import annotations

import sys


def lock(file: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock the file of a descriptor. Raises `BlockingIOError` if another process holds it and `wait` is False.

    Systems without such locks, like Windows, skip it.
    """
    if sys.platform == "win32":
        return
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
