"""What a data folder holds is its owner's alone: seeds of matches under way, hashes of tokens, what bots wrote."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
_OTHERS = 0o077
_FILES = ("lock", "operator.json")
_FOLDERS = ("house", "journal", "tournaments")


@contextmanager
def private_umask() -> Iterator[None]:
    """Whatever this process makes inside is for its user alone."""
    before = os.umask(_OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def restrict_to_owner(folder: Path, database: Path | None) -> list[Path]:
    """Take away from others what they could do with a data folder and its database; what was open to them.

    The folder itself is left as it is where it holds what is not an arena's, as a home would; so is what has the name
    of an arena's file or folder and is none. What belongs to another user can't be changed, and is returned as well.
    """
    files = [folder / name for name in _FILES]
    if database is not None:
        files += [database.with_name(database.name + ending) for ending in ("", "-wal", "-shm")]
    folders = [folder / name for name in _FOLDERS]
    ours = [*filter(Path.is_file, files), *filter(Path.is_dir, folders)]
    if set(folder.iterdir()) <= set(ours):
        ours.append(folder)
    return [path for path in ours if _tightened(path)]


def _tightened(path: Path) -> bool:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & _OTHERS == 0:
            return False
        path.chmod(mode & ~_OTHERS)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
