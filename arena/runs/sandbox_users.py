"""Users for untrusted programs: user ids without a name, which a tournament reserves for itself.

The files and the shared memory that the programs leave behind are removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import pwd
import stat
import subprocess
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from protocol.errors import ArenaFault

USER_IDS = range(61_184, 65_520)
"""The user ids that may be reserved. No system assigns them to people or permanent services."""
LOCK_FOLDER = Path("/run/arena-sandbox")
"""The folder with a file for each user id. The tournament that has reserved the user holds a lock on the file."""
_WORLD_WRITABLE_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock")  # noqa: S108 - writable by everyone
"""The folders of the machine in which every user can write files."""
_IPC_RMID = 0
"""The kernel's command `IPC_RMID`, which removes shared memory, a message queue or a semaphore."""


@contextmanager
def reserved_users(count: int, locks: Path = LOCK_FOLDER) -> Iterator[tuple[int, ...]]:
    """Reserve users for programs, and yield their ids. The users have no name and no processes, and no other tournament
    has reserved them.

    This requires root. What the users left behind is removed on exit, and also at the start, because an earlier
    tournament may have been killed. Raise `ArenaFault` if too few users are free.
    """
    with ExitStack() as held:
        folder = held.enter_context(_lock_folder(locks))
        taken = {entry.pw_uid for entry in pwd.getpwall()} | _users_with_processes()
        users: list[int] = []
        for user in USER_IDS:
            if len(users) < count and user not in taken and _try_lock(folder, user, held):
                users.append(user)
        if len(users) < count:
            raise ArenaFault(f"{count} bots in sandboxes want a user each: {len(users)} are free on this machine")
        held.callback(remove_leftovers, users)
        remove_leftovers(users)
        yield tuple(users)


@contextmanager
def _lock_folder(locks: Path) -> Iterator[int]:
    try:
        with contextlib.suppress(FileExistsError):
            locks.mkdir(mode=0o700)
        folder = os.open(locks, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as exc:
        raise ArenaFault(f"the locks of sandboxes can't be in {locks}: {exc.strerror}") from exc
    try:
        found = os.fstat(folder)
        if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ArenaFault(f"the locks of sandboxes can't be in {locks}: others may write there; remove it")
        yield folder
    finally:
        os.close(folder)


def _try_lock(folder: int, user: int, held: ExitStack) -> bool:
    """Reserve a user id for this process until `held` is closed. Return false if another process has reserved it."""
    try:
        file = os.open(str(user), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    except OSError as exc:
        raise ArenaFault(f"the lock of a sandbox's user {user} can't be made: {exc.strerror}") from exc
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return False
    held.callback(os.close, file)
    return True


def _users_with_processes() -> set[int]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.add(process.stat().st_uid)
    return found


def remove_leftovers(users: Collection[int]) -> None:
    """Remove what users left behind: files in world-writable folders, shared memory, message queues and semaphores."""
    for place in _WORLD_WRITABLE_FOLDERS:
        with contextlib.suppress(OSError):
            _remove_files(os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), users, recurse=True)
    libc = ctypes.CDLL(None)
    for kind in ("shm", "msg", "sem"):
        for number in _kernel_objects(kind, users):
            if kind == "sem":
                libc.semctl(number, 0, _IPC_RMID)
            else:
                libc[f"{kind}ctl"](number, _IPC_RMID, None)


def _remove_files(folder: int, users: Collection[int], *, recurse: bool) -> None:
    """Remove the users' files in an open folder, and close it.

    With `recurse`, also remove those in its world-writable subfolders. Files are addressed by the descriptor of the
    folder, so that no program can redirect a path meanwhile.
    """
    theirs = []
    try:
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                if found.st_uid in users:
                    theirs.append(f"./{entry.name}")
                elif recurse and stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_IWOTH:
                    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                    _remove_files(os.open(entry.name, flags, dir_fd=folder), users, recurse=False)
        for first in range(0, len(theirs), 1000):
            # Programs may nest folders deeper than Python's recursion; `rm` handles any depth.
            subprocess.run(  # noqa: S603
                ["rm", "-rf", "--one-file-system", "--", *theirs[first : first + 1000]],  # noqa: S607
                cwd=f"/proc/self/fd/{folder}",
                stderr=subprocess.DEVNULL,
                check=False,
            )
    finally:
        os.close(folder)


def _kernel_objects(kind: str, users: Collection[int]) -> Iterator[int]:
    """Yield the ids of System V objects that the users own. `kind` is `shm` (memory), `msg` (queues) or `sem`."""
    with contextlib.suppress(OSError):
        names, *lines = (line.split() for line in Path("/proc/sysvipc", kind).read_text().splitlines())
        for line in lines:
            row = dict(zip(names, line, strict=False))
            if int(row["uid"]) in users or int(row["cuid"]) in users:
                yield int(line[1])  # the id is listed after the key
