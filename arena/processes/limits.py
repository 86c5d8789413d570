"""What a program in a box can have, and how it is held to it."""

from __future__ import annotations

import os
import resource

from msgspec import Struct

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
