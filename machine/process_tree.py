"""The processes below another one, whether they have anything to do, and how long they wait for a processor. Only Linux
tells; elsewhere none are found.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

POLL_INTERVAL_S = 0.01
"""Seconds between two looks at a tree of processes."""
MIN_IDLE_POLLS = 5
"""Number of looks in a row at which a tree of processes is idle before it counts as such. Programs that start also wait
for each other, but shorter.
"""
MAX_DELAY_S = 20.0
"""Seconds for which a tree of processes that waits for a processor gets more time to become idle, at most."""
_BUSY_STATES = "RD"
"""The states of a thread that runs, or waits for a processor or a disk."""
_NS_PER_S = 1e9


class ProcessorTimes(NamedTuple):
    """The times of a tree of processes since each thread of it began, in seconds."""

    used_s: float = 0.0
    """The processor time of all threads together."""
    delay_s: float = 0.0
    """The time for which the thread that waited longest could have run, but had no processor."""


def process_tree(root: int) -> list[int]:
    """Return the ids of a process and of all processes below it."""
    found, waiting = list[int](), [root]
    while waiting:
        process = waiting.pop()
        found.append(process)
        for thread in _threads_of(process):
            with contextlib.suppress(OSError):
                waiting += [int(word) for word in (thread / "children").read_text().split()]
    return found


def read_processor_times(root: int) -> ProcessorTimes:
    """Return the times of a process and of all processes below it."""
    times = [_times_of(thread) for process in process_tree(root) for thread in _threads_of(process)]
    return ProcessorTimes(sum(each.used_s for each in times), max((each.delay_s for each in times), default=0.0))


def wait_until_idle(root: int, timeout_s: float) -> bool:
    """Wait until no thread of a process, and of the processes below it, runs or waits for a processor or a disk. A
    program that has started then waits for its input. Return False if that takes longer than `timeout_s` seconds,
    beside those for which a thread had no processor, up to `MAX_DELAY_S`.
    """
    began = time.monotonic()
    idle_polls = 0
    while idle_polls < MIN_IDLE_POLLS:
        late_s = time.monotonic() - began - timeout_s
        if late_s > 0 and late_s > min(MAX_DELAY_S, read_processor_times(root).delay_s):
            return False
        time.sleep(POLL_INTERVAL_S)
        idle_polls = 0 if is_busy(root) else idle_polls + 1
    return True


def is_busy(root: int) -> bool:
    """Return whether a thread of a process, or of a process below it, runs or waits for a processor or a disk."""
    return any(_state_of(thread) in _BUSY_STATES for process in process_tree(root) for thread in _threads_of(process))


def _threads_of(process: int) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from Path(f"/proc/{process}/task").iterdir()


def _state_of(thread: Path) -> str:
    """Return the letter that Linux has for the state of a thread; X for one that has ended."""
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def _times_of(thread: Path) -> ProcessorTimes:
    """Return the times of a thread; none of one that has ended."""
    try:
        used, delay, _ = (thread / "schedstat").read_text().split()
    except (OSError, ValueError):
        return ProcessorTimes()
    return ProcessorTimes(int(used) / _NS_PER_S, int(delay) / _NS_PER_S)
