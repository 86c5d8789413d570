"""Keeps the processes that tests start below one process, so that none outlives a run and all of them are counted.

The main process of a run becomes a child subreaper: a process whose parent has ended becomes its child.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Container, Iterable
from pathlib import Path

TERMINATE_TIMEOUT_S = 5.0
_POLL_INTERVAL_S = 0.02
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends, even by SIGKILL."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def reap_orphans(workers: Container[int]) -> None:
    """Collect adopted processes that have ended, so that nobody sees them as zombies. Leave the `workers`."""
    for pid in children(os.getpid()):
        if pid not in workers:
            reap_ended([pid])


def reap_ended(pids: Iterable[int]) -> list[int]:
    """Collect those of these children that have ended, and return them."""
    ended = []
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG)[0]:
                ended.append(pid)
    return ended


def end_descendants(grace_s: float = 0.0) -> list[str]:
    """End all processes below this one, terminated, then killed, and return their command lines.

    Those that end by themselves within `grace_s` seconds are left alone.
    """
    deadline = time.monotonic() + grace_s
    reap_orphans(())
    while descendants(os.getpid()) and time.monotonic() < deadline:
        wait_briefly()
        reap_orphans(())
    found = {pid: _command(pid) for pid in descendants(os.getpid())}
    deadline = time.monotonic() + TERMINATE_TIMEOUT_S
    for pid in found:
        send_signal(pid, signal.SIGTERM)
    while left := descendants(os.getpid()):
        if time.monotonic() > deadline:
            for pid in left:
                send_signal(pid, signal.SIGKILL)
        reap_orphans(())
        wait_briefly()
    return [command for command in found.values() if command]


def descendants(pid: int) -> list[int]:
    """Return the processes below one, children before grandchildren."""
    found = children(pid)
    return found + [grandchild for child in found for grandchild in descendants(child)]


def send_signal(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_briefly() -> None:
    time.sleep(_POLL_INTERVAL_S)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that still run."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended since
            found += map(int, thread.read_text().split())
    return found


def _command(pid: int) -> str:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""
