"""SIGTERM as the request to a bot to end once its matches under way are over."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable


class FinishSignal:
    """Receives SIGTERM from now on. The process may have been started with the signal blocked, so that none is lost."""

    def __init__(self) -> None:
        self._is_received = False
        signal.signal(signal.SIGTERM, self._receive)
        if sys.platform != "win32":
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def watch(self, loop: asyncio.AbstractEventLoop, on_finish: Callable[[], None]) -> None:
        """Have the running loop call `on_finish` at each signal, and soon if one has come already."""
        loop.add_signal_handler(signal.SIGTERM, on_finish)
        if self._is_received:
            loop.call_soon(on_finish)

    def _receive(self, *_: object) -> None:
        self._is_received = True
