"""The specification of a bot's launch, and the messages between the arena and the keeper of the process.

The arena sends a `LaunchSpec` as a line of JSON, later perhaps `TERMINATE_MESSAGE`, and closes its side at the end. The
keeper answers `STARTED_MESSAGE`, or `FAILED_MESSAGE` with an errno. A sandbox sends `LISTENING_MESSAGE` with a socket.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from machine.units import MIB
from protocol.errors import UsageFault

SCRATCH_MIB = 64
"""Size in MiB of /tmp (which is also the home folder) and of /dev/shm in a sandbox. No file may be larger."""


MAX_PROCESSES = 256
"""Default maximum number of processes and threads of a bot."""


class ResourceLimits(Struct, frozen=True, kw_only=True):
    """Limits that the kernel enforces on a program. `user` is the id of the user who runs it, None for the arena's."""

    memory: int
    """Maximum bytes of private, writable memory of one process."""
    processes: int = MAX_PROCESSES
    """Maximum number of processes and threads of the user that runs the program, in total."""
    files: int = 1024
    """Maximum number of open files in one process."""
    file_size: int = SCRATCH_MIB * MIB
    user: int | None = None

    def apply(self) -> None:
        """Apply these limits to this process and its future children."""
        if self.user is not None:
            os.setgroups([])
            os.setgid(self.user)
            os.setuid(self.user)
        for what, most in (
            (resource.RLIMIT_DATA, self.memory),
            (resource.RLIMIT_NPROC, self.processes),
            (resource.RLIMIT_NOFILE, self.files),
            (resource.RLIMIT_FSIZE, self.file_size),
            (resource.RLIMIT_CORE, 0),
        ):
            hard = resource.getrlimit(what)[1]
            bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (bound, bound))


ENV_ALLOWLIST = (
    "ARENA_FAMILY_GAMES",
    "ARENA_GAME_FILES",
    "ARENA_PLAIN",
    "ARENA_TIMEOUT_FACTOR",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "PATH",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
)
"""The environment variables of the arena's process that every bot gets."""
ENV_ALLOWLIST_PREFIXES = ("LC_", "NUMBA_", "OMP_", "PYTHON")
"""Prefixes of the environment variables that every bot gets, besides those in `ENV_ALLOWLIST`."""


def allowed_environment(environ: Mapping[str, str], extra_names: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment variables that every bot gets, and the variables `extra_names`.

    Raise `UsageFault` if a variable in `extra_names` is not set.
    """
    for name in extra_names:
        if name not in environ:
            raise UsageFault(f"--pass-env {name}: there is no such variable in the environment")
    return {
        name: value
        for name, value in environ.items()
        if name in ENV_ALLOWLIST or name in extra_names or name.startswith(ENV_ALLOWLIST_PREFIXES)
    }


TERMINATE_MESSAGE = b"terminate\n"
"""The arena sends this to a keeper that shall terminate the program."""
LISTENING_MESSAGE = b"listening\n"
"""A sandbox sends this to the arena, with a socket that listens in the sandbox."""


class LaunchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A program to run, and how. The program gets `token` as a line on its standard input."""

    command: tuple[str, ...]
    environment: dict[str, str]
    token: str
    nice: int = 0
    """The niceness of the program."""
    limits: ResourceLimits | None = None
    log: str | None = None
    """The file for the program's output if `largest_log` is set; else the program inherits the keeper's output."""
    largest_log: int | None = None
    """Maximum bytes of the log. A full log is rotated, and one older file is kept."""
    holds_sigterm: bool = False
    """True if the program starts with SIGTERM blocked, and releases it when it can obey: it must never be lost."""
    sandbox: tuple[str, ...] = ()
    """The command that starts the sandbox, if any.

    The keeper appends two things to it: the file descriptor of a socket that is connected to the arena, and the command
    of the program.
    """

    def to_line(self) -> bytes:
        """Return the specification as the line that the arena sends to the keeper."""
        return msgspec.json.encode(self) + b"\n"
