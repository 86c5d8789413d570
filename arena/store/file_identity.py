"""Whether an open database is still the file of its name: what is written to one that was removed is kept nowhere."""

from __future__ import annotations

import os
from pathlib import Path

from arena.store.database import StoreUnavailable


class FileIdentity:
    """A database as it is now, and its write-ahead log as it is at the first `check`. Raises `StoreUnavailable`."""

    def __init__(self, file: Path) -> None:
        self._files = (file, file.with_name(f"{file.name}-wal"))
        self._seen = {file: _inode(file)}

    def check(self) -> None:
        """Raise `StoreUnavailable` if one of the files is another than before, or none. To be asked in a transaction,
        where both are there."""
        for path in self._files:
            found = _inode(path)
            if self._seen.setdefault(path, found) != found:
                raise _gone(path, "replaced")


def _inode(path: Path) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        raise _gone(path, "removed") from None
    return status.st_dev, status.st_ino


def _gone(path: Path, what: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} was {what} while it was in use: move the one that was in use back, or stop the arena and start it anew"
    )
