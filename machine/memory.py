"""The memory available to this process, which is that of the machine or the limit of its control group."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

CGROUP_FOLDER = Path("/sys/fs/cgroup")
"""The folder in which Linux shows the limits of control groups."""
PROCESS_CGROUP_FILE = Path("/proc/self/cgroup")
"""The file that lists the control groups of this process. Groups of version 1 are listed with their controllers."""


def memory_bytes() -> int:
    """Return the memory of the machine in bytes, or the memory limit of this process's control group if that is lower.
    All processes of the group together must keep to the limit.
    """
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_cgroup_limits()])


def _cgroup_limits() -> Iterator[int]:
    """Yield the memory limits of this process's control groups and of their ancestors, as far as these are readable."""
    try:
        groups = PROCESS_CGROUP_FILE.read_text().splitlines()
    except OSError:
        return
    for group in groups:
        _, controlled, name = group.split(":", 2)
        if not controlled:
            folder, file = CGROUP_FOLDER / name.lstrip("/"), "memory.max"
        elif "memory" in controlled.split(","):
            folder, file = CGROUP_FOLDER / "memory" / name.lstrip("/"), "memory.limit_in_bytes"
        else:
            continue
        for place in (folder, *folder.parents):
            try:
                yield int((place / file).read_text())
            except (OSError, ValueError):  # `max` means no limit
                continue
