"""What a process asks of Linux: to be private, to end with its parent, to have orphans; and how one has ended."""

from __future__ import annotations

import ctypes
import sys

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


def ending(code: int) -> str:
    """How a process ended, in words, by its return code as Python gives it: negative for a signal."""
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
