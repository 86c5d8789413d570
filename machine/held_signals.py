"""Blocking of signals for a server that has not installed its handlers yet, or is about to replace itself.

Without a handler they would end the process: a deployment that signals twice would kill the server that it starts. A
blocked signal stays pending, even across exec, and is delivered once it is released.
"""

from __future__ import annotations

import signal
import sys


def hold() -> None:
    """Block SIGHUP and SIGUSR2 in this process and in its children."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK, _held())


def release() -> None:
    """Deliver the blocked signals: their handlers are installed now."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _held())


if sys.platform != "win32":

    def _held() -> set[signal.Signals]:
        return {signal.SIGHUP, signal.SIGUSR2}
