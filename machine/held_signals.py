"""Signals that a server obeys, kept waiting while it is no server yet, or is about to become another one.

Without a handler they end a process: a deployment that signals twice would end the server that it starts. A blocked
signal stays pending, also while another program takes the place of this one, and comes once it is released.
"""

from __future__ import annotations

import signal
import sys


def hold() -> None:
    """Keep SIGHUP and SIGUSR2 waiting in this process, and in those that it starts."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK, _held())


def release() -> None:
    """Let them come: there are handlers for them now."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _held())


if sys.platform != "win32":

    def _held() -> set[signal.Signals]:
        return {signal.SIGHUP, signal.SIGUSR2}
