"""The processes that one has started, with all that these have started: watched, buried, ended to the last.

For a process that exists for nothing else: it becomes the parent of orphans, and hears every signal in `news`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
from pathlib import Path

_SET_PDEATHSIG, _SET_DUMPABLE, _SET_CHILD_SUBREAPER = 1, 4, 36
_SIGKILL = 9


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


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def news() -> socket.socket:
    """Adopt orphans, outlive the signals that would end this process, and have a byte to read here for each signal."""
    adopt_orphans()
    read, write = socket.socketpair()
    write.setblocking(False)
    signal.set_wakeup_fd(write.detach())
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which children would inherit
    return read


def reap(child: int) -> int | None:
    """Bury whoever has ended; the wait status of `child` if it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                found = ended[1]
    return found


def end_all(child: int) -> None:
    """Kill the child's process group, and then whatever was orphaned by that, until there is nothing left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            for orphan in _children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> list[int]:
    """The children that the kernel tells of."""
    try:
        return [int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


def end_as(status: int) -> None:
    """End this process as a child has ended: with its exit code, or by the signal that killed it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    raise SystemExit(os.WEXITSTATUS(status))


def ending(code: int) -> str:
    """How a process ended, in words, by its return code as Python gives it: negative for a signal."""
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
