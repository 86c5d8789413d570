"""A data folder: one server or tournament at a time runs on it, and what it holds is its owner's alone.

That are seeds of matches under way, hashes of tokens, what bots wrote.
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

FOLDER, FILE = 0o700, 0o600
_OTHERS = 0o077
_FILES = ("lock", "operator.json")
_FOLDERS = ("archive", "house", "journal", "tournaments")


class Locked(ArenaFault):
    """Another process runs on the data folder."""


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold a data folder, made if need be; the lock ends with the process. Raises `Locked`, naming the holder.

    Whatever is made meanwhile is for its user alone.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=FOLDER)
        _check_owner(folder)
        file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE)
    except OSError as exc:
        why = f"{folder / 'lock'} is a link: remove it" if exc.errno == errno.ELOOP else exc.strerror
        raise ArenaFault(f"the data folder {folder} can't be used: {why}") from exc
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            holder = os.pread(file, 32, 0).decode(errors="replace").strip() or "unknown"
            raise Locked(
                f"{folder} is in use by process {holder}: stop it, or name another folder with --data"
            ) from exc
        _say_who(file)
        with private_umask():
            yield
    finally:
        os.close(file)


def _check_owner(folder: Path) -> None:
    """Whoever owns a folder can change what is in it: it has to be this user, or root.

    Raises `ArenaFault`. For root, which reads and writes everywhere, any owner will do: containers map them, and a
    database of somebody is looked after with his rights (`sudo`).
    """
    owner = folder.stat().st_uid
    if os.geteuid() not in (0, owner) and owner != 0:
        raise ArenaFault(
            f"the data folder {folder} belongs to {_name_of(owner)}, who could change all in it: "
            "name a folder of your own with --data"
        )


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _say_who(file: int) -> None:
    """Name this process in a lock, if there is room for that: it holds without."""
    name = str(os.getpid()).encode()
    try:
        os.ftruncate(file, os.pwrite(file, name, 0))
    except OSError:
        os.ftruncate(file, 0)


def is_held(folder: Path) -> bool:
    """Whether a process runs on a data folder now."""
    try:
        file = os.open(folder / "lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
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
