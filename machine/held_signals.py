"""Blocking of signals for a server that has not installed its handlers yet, or is about to replace itself.

Without a handler, the signals would end the process: a deployment that signals twice would kill the server that it
starts. A blocked signal stays pending, even across exec, and is delivered once it is released.
"""

from __future__ import annotations

import signal
import sys


def block_signals() -> None:
    """Block SIGHUP and SIGUSR2 in this process and in its children."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK, _blocked_signals())


def unblock_signals() -> None:
    """Unblock the signals, so that pending ones are delivered. Call it once their handlers are installed."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _blocked_signals())


if sys.platform != "win32":

    def _blocked_signals() -> set[signal.Signals]:
        return {signal.SIGHUP, signal.SIGUSR2}
