"""Looks at what the processes in a box use. The first process of the box calls this, so it imports little."""

from __future__ import annotations

import contextlib
import os

SCRATCH_FOLDERS = ("/tmp", "/dev/shm", "/build", "/keep")  # noqa: S108 - inside the box
"""The folders in memory to which a program can write, if they are there."""
FIRST_PROCESS = 1
"""The number of the first process in a box."""
_CPU_FIELDS = slice(11, 15)
"""The times in a line of `stat`, counted after the name: two of the process, then two of its children."""
_ACTIVE_STATES = frozenset({b"R", b"D"})
"""The states of threads that run, wait for a processor, or are in a call of the kernel that nothing interrupts."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KIB = 1024


class Usage:
    """The memory and the processor time of all processes in a box but the first."""

    def __init__(self) -> None:
        self.memory = 0
        """Bytes of memory that processes do not share with files; twice what two of them share after a fork."""
        self.cpu_s: dict[int, float] = {}
        """The processor time of each process, in seconds."""
        self.cpu_with_children_s = 0.0
        """The processor time of all, and of the processes that they or the first one have waited for."""


def look_at_processes() -> Usage:
    """Return what the processes in this box use."""
    usage = Usage()
    for process in _processes():
        with contextlib.suppress(OSError):  # it has ended
            times = [
                int(word) / _TICKS_PER_S for word in _read(process, "stat").rpartition(b")")[2].split()[_CPU_FIELDS]
            ]
            if process == FIRST_PROCESS:
                usage.cpu_with_children_s += sum(times[2:])
                continue
            usage.cpu_s[process] = sum(times[:2])
            usage.cpu_with_children_s += sum(times)
            usage.memory += _sum_fields(_read(process, "status"), (b"RssAnon:", b"VmSwap:"))
    return usage


def is_any_active() -> bool:
    """Return whether a thread in this box, but those of the first process, runs or wants to run."""
    for process in _processes():
        if process != FIRST_PROCESS:
            with contextlib.suppress(OSError):
                if any(
                    _read(process, f"task/{thread}/stat").rpartition(b")")[2].split()[0] in _ACTIVE_STATES
                    for thread in os.listdir(f"/proc/{process}/task")
                ):
                    return True
    return False


def proportional_memory() -> int:
    """Return the bytes of memory of the processes, of which each one that is shared counts once.

    A process that hides this is counted as if it shared nothing.
    """
    memory = 0
    for process in _processes():
        if process != FIRST_PROCESS:
            with contextlib.suppress(OSError):
                memory += _proportional_memory_of(process)
    return memory


def _proportional_memory_of(process: int) -> int:
    try:
        return _sum_fields(_read(process, "smaps_rollup"), (b"Pss_Anon:", b"SwapPss:"))
    except PermissionError:
        return _sum_fields(_read(process, "status"), (b"RssAnon:", b"VmSwap:"))


def look_at_scratch() -> tuple[int, int]:
    """Return the bytes and the number of the files in the folders to which the program can write."""
    size = files = 0
    for folder in SCRATCH_FOLDERS:
        with contextlib.suppress(FileNotFoundError):
            found = os.statvfs(folder)
            size += (found.f_blocks - found.f_bfree) * found.f_frsize
            files += found.f_files - found.f_ffree
    return size, files


def count_sockets() -> int:
    """Return the number of sockets in the box, also of those that no process holds any more."""
    with open("/proc/net/sockstat", "rb") as file:
        return int(file.readline().split()[2])


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _read(process: int, name: str) -> bytes:
    with open(f"/proc/{process}/{name}", "rb") as file:
        return file.read()


def _sum_fields(text: bytes, names: tuple[bytes, ...]) -> int:
    """Return the sum of fields of a file of `/proc`, in bytes."""
    return sum(int(line.split()[1]) * _KIB for line in text.splitlines() if line.startswith(names))
