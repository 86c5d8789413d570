"""What a bot's code is stopped by when its time is long up: nothing else would, where it runs in this very thread."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

AGAIN = 1.0
"""Seconds after which code that goes on nevertheless is stopped again."""


class TimeUp(BaseException):
    """Raised in the bot's code."""


class Alarm:
    """An alarm clock. It works in the main thread of a program on POSIX, where it uses SIGALRM; elsewhere it is still.

    Compiled code, which looks at no signals, is stopped when it returns.
    """

    def __init__(self) -> None:
        self._works = sys.platform != "win32" and threading.current_thread() is threading.main_thread()
        self._set = False

    @contextlib.contextmanager
    def wound(self) -> Iterator[None]:
        """Ready to be `set_for`. Afterwards the signal is whoever's it was, and a timer that was set for it goes on."""
        if sys.platform == "win32" or not self._works:
            yield
            return
        timer = signal.setitimer(signal.ITIMER_REAL, 0)
        before = signal.signal(signal.SIGALRM, self._ring)
        try:
            yield
        finally:
            signal.signal(signal.SIGALRM, before)
            signal.setitimer(signal.ITIMER_REAL, *timer)

    @contextlib.contextmanager
    def set_for(self, seconds: float | None) -> Iterator[None]:
        """Raise `TimeUp` in what is done inside once it has taken so long; None: let it take its time."""
        if sys.platform == "win32" or not self._works or seconds is None:
            yield
            return
        self._set = True
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
        try:
            try:
                yield
            finally:
                self._still()
        except TimeUp:  # which may have come before it was still
            self._still()
            raise

    def _still(self) -> None:
        self._set = False
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._set:  # it may have rung when that was done
            raise TimeUp
