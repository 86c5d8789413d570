"""The number of cores that this process may use, and a warning about options that ask for more processes or threads."""

from __future__ import annotations

import os

from machine.terminal import say


def usable_cores() -> int:
    """Return the number of cores that this process may run on. A container or `taskset` may exclude cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def excess_warning(option: str, wanted: int) -> str | None:
    """Return a line of warning if an option asks for more processes or threads than there are cores, else None."""
    cores = usable_cores()
    if wanted <= cores:
        return None
    here = "the one core" if cores == 1 else f"the {cores} cores"
    return f"{option} {wanted} is more than {here} that can be used here, so it is no faster"


def warn_of_excess(option: str, wanted: int) -> None:
    """Print the warning of `excess_warning`, if there is one, to standard error."""
    line = excess_warning(option, wanted)
    if line is not None:
        say(f"warning: {line}", err=True)
