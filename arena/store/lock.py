"""One server or tournament at a time on a data folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arena.store.file_permissions import FILE, FOLDER, private_umask
from protocol.errors import ArenaFault


class Locked(ArenaFault):
    """Another process runs on the data folder."""


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold a data folder, made if need be; the lock ends with the process. Raises `Locked`, naming the holder.

    Whatever is made meanwhile is for its user alone.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=FOLDER)
        file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE)
    except OSError as exc:
        raise ArenaFault(f"the data folder {folder} can't be used: {exc.strerror}") from exc
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            holder = os.pread(file, 32, 0).decode(errors="replace").strip() or "unknown"
            raise Locked(
                f"{folder} is in use by process {holder}: stop it, or name another folder with --data"
            ) from exc
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        with private_umask():
            yield
    finally:
        os.close(file)


def is_held(folder: Path) -> bool:
    """Whether a process runs on a data folder now."""
    try:
        file = os.open(folder / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
