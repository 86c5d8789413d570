"""How a bot is launched: its command, environment and limits, and what an arena and the keeper of its process say.

The arena sends a `LaunchSpec` as a line of JSON, later perhaps `TERMINATE`, and in the end closes its side. The keeper
answers `STARTED`, or `FAILED` and the number of the system's error. From a sandbox comes `LISTENING` with a socket.
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
"""What fits into /tmp, which is the home as well, and as much into /dev/shm."""


PROCESSES = 256
"""Processes and threads that a bot may have."""


class ResourceLimits(Struct, frozen=True, kw_only=True):
    """As the kernel counts; `user` is the number of who the program runs as, None for the operator."""

    memory: int
    """Bytes of its own that one process can write to."""
    processes: int = PROCESSES
    """Processes and threads of the user in all."""
    files: int = 1024
    """Open at once in one process."""
    file_size: int = SCRATCH_MIB * MIB
    user: int | None = None

    def hold(self) -> None:
        """Hold this process, and whatever it starts, to these limits from now on."""
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


PASSED = (
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
PASSED_BEGINNINGS = ("LC_", "NUMBA_", "OMP_", "PYTHON")


def passed(environ: Mapping[str, str], more: Sequence[str] = ()) -> dict[str, str]:
    """The variables that every bot gets, with those named in `more`. Raises `UsageFault` for one that is not set."""
    for name in more:
        if name not in environ:
            raise UsageFault(f"--pass-env {name}: there is no such variable in the environment")
    return {
        name: value
        for name, value in environ.items()
        if name in PASSED or name in more or name.startswith(PASSED_BEGINNINGS)
    }


TERMINATE = b"terminate\n"
LISTENING = b"listening\n"


class LaunchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A program to run. It gets `token` as a line on its standard input."""

    command: tuple[str, ...]
    environment: dict[str, str]
    token: str
    nice: int = 0
    """By how much others go before it."""
    limits: ResourceLimits | None = None
    log: str | None = None
    """The file for what it writes, with `largest_log`; else it is where this process writes."""
    largest_log: int | None = None
    """Bytes after which the log is begun anew, and the one before it kept."""
    sandbox: tuple[str, ...] = ()
    """A command that takes a descriptor of the socket to the arena, and the command to run."""

    def line(self) -> bytes:
        """The order as it is sent."""
        return msgspec.json.encode(self) + b"\n"
