"""A lock on an open file between processes, exclusive or shared. It ends when the file is closed."""

from __future__ import annotations

import sys


def lock(file: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock an open file, on systems that support it. If another process holds the lock, wait for it; without `wait`,
    raise `BlockingIOError`.
    """
    if sys.platform == "win32":
        return
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
