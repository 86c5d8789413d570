"""Control of processes on Linux: privacy, death with the parent, orphans, memory, priority, exit codes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from protocol.display import short_repr
from protocol.errors import UsageFault

MAX_NICENESS_VARIABLE = "ARENA_MAX_NICENESS"
"""The name of the environment variable with the maximum nice value of background processes."""
_LOWEST_PRIORITY = 19
"""The nice value of the lowest priority."""
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_CHILD_SUBREAPER = 1, 4, 36
"""These constants are options of the system call `prctl`, with its names."""
_SIGKILL = 9
"""The number of the signal SIGKILL, on every Linux."""
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""These constants are parameters of glibc's function `mallopt`, with its names."""
_AUTOGROUP = Path("/proc/self/autogroup")
"""The file through which Linux shows and changes the nice value of this process's session."""
_AUTOGROUP_TRIES, _AUTOGROUP_RETRY_DELAY_S = 20, 0.1
"""`_AUTOGROUP_TRIES` is the maximum number of attempts to write to `_AUTOGROUP`, and `_AUTOGROUP_RETRY_DELAY_S` the
number of seconds between two attempts. Linux refuses a write if users have written too often in the last second.
"""


def keep_private() -> None:
    """Hide the environment, the memory and the open files of this process from other processes of the same user. Only
    root may read them.

    This lasts until the process runs another program. Until then there are no core dumps, and no debugger can attach.
    """
    _prctl(_SET_DUMPABLE, 0)


def die_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends. This setting survives exec."""
    _prctl(_SET_PDEATHSIG, _SIGKILL)


def end_first_without_memory() -> None:
    """Let the kernel kill this process and its children first when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def adopt_orphans() -> None:
    """Become the parent of all orphaned descendants."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def trim_malloc() -> None:
    """Make glibc give freed blocks of 1 MiB and more back to Linux, and share the rest between threads.

    By default, glibc keeps larger and larger blocks for each thread, and memory grows as if it leaked.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, 1024 * 1024)
        libc.mallopt(_M_ARENA_MAX, 2)


def leave_process_group() -> None:
    """Move this process into its own group, so that Ctrl-C only reaches the process that started it.

    No new session is made: Linux may schedule each session as a group ("autogroup"), in which case the nice value only
    counts within the session.
    """
    os.setpgrp()


def limit_niceness(niceness: int, environ: Mapping[str, str] = os.environ) -> int:
    """Return the nice value for a background process: `niceness`, but at most the value of `ARENA_MAX_NICENESS`.

    A process of the lowest priority hardly runs on a machine that is always busy. Raise `UsageFault` if that variable
    is not a whole number in range.
    """
    text = environ.get(MAX_NICENESS_VARIABLE) or str(_LOWEST_PRIORITY)
    if not (text.isdecimal() and len(text) <= 2 and int(text) <= _LOWEST_PRIORITY):
        raise UsageFault(
            f"{MAX_NICENESS_VARIABLE} is {short_repr(text)}: it must be a whole number from 0 to {_LOWEST_PRIORITY}"
        )
    return min(niceness, int(text))


def renice(by: int) -> None:
    """Lower this process's priority by `by`, within `ARENA_MAX_NICENESS`. Raise `UsageFault` if that variable is
    invalid.
    """
    _renice(limit_niceness(by))


def lower_priority(niceness: int) -> None:
    """Lower the priority of this process and of its session by exactly `niceness`. The process must have started the
    session itself.
    """
    if not niceness:
        return
    _renice(niceness)
    for _ in range(_AUTOGROUP_TRIES):
        try:
            _AUTOGROUP.write_text(str(niceness))
        except BlockingIOError:  # Linux allows this to ordinary users ten times a second in total
            time.sleep(_AUTOGROUP_RETRY_DELAY_S)
        except OSError:
            return
        else:
            return


def _renice(by: int) -> None:
    with contextlib.suppress(OSError):
        os.nice(by)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def describe_exit(code: int) -> str:
    """Return how a process ended, from its return code in Python: negative for a signal."""
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
