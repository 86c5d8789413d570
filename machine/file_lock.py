"""A lock on an open file, for one process or for several that share it; it ends with the file, or the process."""

from __future__ import annotations

import sys


def lock(file: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock the file of a descriptor. Raises `BlockingIOError` where another one has it and this one is not to `wait`.

    A system that has no such locks, as Windows, goes without.
    """
    if sys.platform == "win32":
        return
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
