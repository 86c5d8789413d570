"""The data folder, which only one server or tournament at a time may use, and which only its owner can read. It holds
the seeds of matches in progress, token hashes and the output of bots.
"""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from protocol.errors import ArenaFault

FOLDER_MODE, FILE_MODE = 0o700, 0o600
"""`FOLDER_MODE` has the permissions of folders in a data folder, `FILE_MODE` those of files: only the owner has any."""
_GROUP_AND_OTHERS_MODE = 0o077
"""The permission bits of all users except the owner."""
LOCK_FILE = "lock"
"""The name of the file in a data folder whose lock its user holds."""
_FILES_IN_FOLDER = (LOCK_FILE, "operator.json")
"""The names of the files in a data folder, except the database."""
_FOLDERS_IN_FOLDER = ("archive", "house", "journal", "runners", "tournaments")
"""The names of the folders that a server makes in a data folder. Other folders count as the user's."""


class DataFolderInUse(ArenaFault):
    """Another process uses the data folder."""


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Lock a data folder until the block or the process ends. Create the folder if needed. Files that are created
    inside the block are accessible only to this user. Raise `DataFolderInUse`, which names the holder, if it is locked.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        _check_owner(folder)
        file = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    except OSError as exc:
        why = f"{folder / LOCK_FILE} is a link: remove it" if exc.errno == errno.ELOOP else exc.strerror
        raise ArenaFault(f"the data folder {folder} can't be used: {why}") from exc
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            holder = os.pread(file, 32, 0).decode(errors="replace").strip() or "unknown"
            raise DataFolderInUse(
                f"{folder} is in use by process {holder}: stop it, or name another folder with --data"
            ) from exc
        _write_holder(file)
        with private_umask():
            yield
    finally:
        os.close(file)


def _check_owner(folder: Path) -> None:
    """Raise `ArenaFault` unless the folder belongs to this user or to root, because its owner could change everything
    in it. Root may use any folder: containers map users, and operators use `sudo` on another user's database.
    """
    owner = folder.stat().st_uid
    if os.geteuid() not in (0, owner) and owner != 0:
        raise ArenaFault(
            f"the data folder {folder} belongs to {_user_name(owner)}, who could change all in it: "
            "name a folder of your own with --data"
        )


def _user_name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _write_holder(file: int) -> None:
    """Write this process's id into the lock file. On a full disk, do nothing: the lock is valid without it."""
    name = str(os.getpid()).encode()
    try:
        os.ftruncate(file, os.pwrite(file, name, 0))
    except OSError:
        os.ftruncate(file, 0)


def is_held(folder: Path) -> bool:
    """Return whether a process uses a data folder now."""
    try:
        file = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


@contextmanager
def private_umask() -> Iterator[None]:
    """Make files that are created inside the block accessible only to this user."""
    before = os.umask(_GROUP_AND_OTHERS_MODE)
    try:
        yield
    finally:
        os.umask(before)


def restrict_to_owner(folder: Path, database: Path | None) -> list[Path]:
    """Remove other users' permissions on a data folder and its database. Return the paths that others could access.

    The folder itself keeps its permissions if it contains any other files, as a home folder does. Permissions on
    another user's paths cannot be changed; these paths are returned too.
    """
    files = [folder / name for name in _FILES_IN_FOLDER]
    if database is not None:
        files += [database.with_name(database.name + ending) for ending in ("", "-wal", "-shm")]
    folders = [folder / name for name in _FOLDERS_IN_FOLDER]
    ours = [*filter(Path.is_file, files), *filter(Path.is_dir, folders)]
    if set(folder.iterdir()) <= set(ours):
        ours.append(folder)
    return [path for path in ours if _restrict(path)]


def _restrict(path: Path) -> bool:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & _GROUP_AND_OTHERS_MODE == 0:
            return False
        path.chmod(mode & ~_GROUP_AND_OTHERS_MODE)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
