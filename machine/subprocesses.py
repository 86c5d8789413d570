"""What a process asks of Linux: to be private, to end with its parent, orphans, memory back, to let others go first.

And how one has ended, in words.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from protocol.errors import UsageFault

MAX_NICENESS_VARIABLE = "ARENA_MAX_NICENESS"
_LOWEST_PRIORITY = 19
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_CHILD_SUBREAPER = 1, 4, 36
_SIGKILL = 9
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_AUTOGROUP = Path("/proc/self/autogroup")
_AUTOGROUP_TRIES, _AUTOGROUP_PAUSE = 20, 0.1


def keep_private() -> None:
    """Keep environment, memory and files of this process from others of the same user; only root may look.

    It lasts until the process runs another program. There are no core dumps meanwhile, and no debugger can attach.
    """
    _prctl(_SET_DUMPABLE, 0)


def die_with_parent() -> None:
    """Have this process killed when the thread that started it ends. It lasts when another program is run."""
    _prctl(_SET_PDEATHSIG, _SIGKILL)


def adopt_orphans() -> None:
    """Be the parent of all that descends from this process and has lost its own."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def give_memory_back() -> None:
    """Have blocks of 1 MiB and more go back to Linux when they are freed, and threads share what is kept, where the C
    library is glibc: it keeps larger and larger ones, for each thread, and grows as if they leaked.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, 1024 * 1024)
        libc.mallopt(_M_ARENA_MAX, 2)


def leave_process_group() -> None:
    """Be in a group of its own, as Ctrl-C is for the process that started this one.

    Not in a session of its own: Linux may weigh sessions against each other ("autogroup"), and how nice a process is
    counts only within one then.
    """
    os.setpgrp()


def limited_niceness(niceness: int, environ: Mapping[str, str] = os.environ) -> int:
    """Return by how much a background process lowers its priority: `niceness`, or what `ARENA_MAX_NICENESS` allows.

    A process of the lowest priority hardly runs on a machine that is always busy. Raises `UsageFault` for what is no
    such number.
    """
    text = environ.get(MAX_NICENESS_VARIABLE) or str(_LOWEST_PRIORITY)
    if not (text.isdecimal() and int(text) <= _LOWEST_PRIORITY):
        raise UsageFault(f"{MAX_NICENESS_VARIABLE} is {text!r}: it is a whole number from 0 to {_LOWEST_PRIORITY}")
    return min(niceness, int(text))


def be_nice(by: int) -> None:
    """Lower the priority of this process in its session, as `os.nice`, where the system and the environment allow it.

    Raises `UsageFault` as `limited_niceness`.
    """
    _lower_priority(limited_niceness(by))


def give_way(nice: int) -> None:
    """Lower the priority of this process by exactly this, and that of its session, which it began itself."""
    if not nice:
        return
    _lower_priority(nice)
    for _ in range(_AUTOGROUP_TRIES):
        try:
            _AUTOGROUP.write_text(str(nice))
        except BlockingIOError:  # Linux lets ordinary users do it ten times a second, all of them
            time.sleep(_AUTOGROUP_PAUSE)
        except OSError:
            return
        else:
            return


def _lower_priority(by: int) -> None:
    with contextlib.suppress(OSError):
        os.nice(by)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def ending(code: int) -> str:
    """How a process ended, in words, by its return code as Python gives it: negative for a signal."""
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
