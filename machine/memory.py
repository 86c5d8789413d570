"""How much memory this process may have: the machine's, or what a control group that it is in is allowed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
"""Where Linux says what control groups may have."""
OF_PROCESS = Path("/proc/self/cgroup")
"""Where it says in which this process is, those of the first version by what they control."""


def memory_bytes() -> int:
    """The bytes of memory that there are for this process and its like."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_limits()])


def _limits() -> Iterator[int]:
    """What the groups and those that they are in are allowed, where they are there to be seen and have a limit."""
    try:
        groups = OF_PROCESS.read_text().splitlines()
    except OSError:
        return
    for group in groups:
        _, controlled, name = group.split(":", 2)
        if not controlled:
            folder, file = GROUPS / name.lstrip("/"), "memory.max"
        elif "memory" in controlled.split(","):
            folder, file = GROUPS / "memory" / name.lstrip("/"), "memory.limit_in_bytes"
        else:
            continue
        for place in (folder, *folder.parents):
            try:
                yield int((place / file).read_text())
            except (OSError, ValueError):  # `max` is no limit
                continue
