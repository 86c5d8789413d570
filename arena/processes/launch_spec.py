"""The specification of a bot's launch, and the messages between the arena and the keeper of the process.

The arena sends a `LaunchSpec` as a line of JSON, later perhaps `TERMINATE_MESSAGE`, and closes its side at the end. The
keeper answers `STARTED_MESSAGE`, or `FAILED` with an errno. A sandbox sends `LISTENING_MESSAGE` with a socket.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from protocol.errors import UsageFault

MIB = 1024 * 1024
SCRATCH_MIB = 64
"""Size of /tmp, which is also the home folder, and of /dev/shm."""


MAX_PROCESSES = 256
"""Default maximum of a bot's processes and threads."""


class ResourceLimits(Struct, frozen=True, kw_only=True):
    """Limits for the kernel to enforce; `user` is the id that the program runs as, None for the operator."""

    memory: int
    """Bytes of private memory that one process can write to."""
    processes: int = MAX_PROCESSES
    """Processes and threads of the user in total."""
    files: int = 1024
    """Open files in one process."""
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
ENV_ALLOWLIST_PREFIXES = ("LC_", "NUMBA_", "OMP_", "PYTHON")


def allowed_environment(environ: Mapping[str, str], extra_names: Sequence[str] = ()) -> dict[str, str]:
    """Return the variables that every bot gets, and those in `extra_names`. Raises `UsageFault` for one that is not
    set.
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
LISTENING_MESSAGE = b"listening\n"


class LaunchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A program to run. It gets `token` as a line on its standard input."""

    command: tuple[str, ...]
    environment: dict[str, str]
    token: str
    nice: int = 0
    """The nice value of the process."""
    limits: ResourceLimits | None = None
    log: str | None = None
    """The file for its output, used with `largest_log`; otherwise it inherits this process's output."""
    largest_log: int | None = None
    """Bytes after which the log is rotated; one older file is kept."""
    sandbox: tuple[str, ...] = ()
    """A command that starts the program inside a sandbox. Its arguments are the descriptor of a socket to the arena,
    and the program's command.
    """

    def to_line(self) -> bytes:
        """Return the specification as it is sent."""
        return msgspec.json.encode(self) + b"\n"
