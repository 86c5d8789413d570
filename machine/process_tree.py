"""The processes below another one, and whether they have anything to do. Only Linux tells; elsewhere none are found."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

POLL_INTERVAL_S = 0.01
"""Seconds between two looks at a tree of processes."""
MIN_IDLE_POLLS = 5
"""Number of looks in a row at which a tree of processes is idle before it counts as such. Programs that start also wait
for each other, but shorter.
"""
_BUSY_STATES = "RD"
"""The states of a thread that runs, or waits for a processor or a disk."""


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


def wait_until_idle(root: int, timeout_s: float) -> bool:
    """Wait until no thread of a process, and of the processes below it, runs or waits for a processor or a disk. A
    program that has started then waits for its input. Return False if that takes longer than `timeout_s` seconds.
    """
    deadline = time.monotonic() + timeout_s
    idle_polls = 0
    while idle_polls < MIN_IDLE_POLLS:
        if time.monotonic() > deadline:
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
