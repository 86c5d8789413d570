"""Interruption of Python code that takes too long, by a signal."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


class TimeUp(BaseException):
    """Raised in code that exceeds its time, to interrupt it."""


class CodeTimer:
    """A timer that interrupts code of strangers: of bots or of games. It uses SIGALRM in the main thread on POSIX;
    elsewhere it does nothing. It interrupts again every `repeat_interval_s` seconds if the code goes on.

    Compiled code does not notice signals, so the interruption takes effect when it returns.
    """

    def __init__(self, repeat_interval_s: float = 1.0) -> None:
        self._repeat_interval_s = repeat_interval_s
        has_timer = sys.platform != "win32" and hasattr(signal, "setitimer")
        self._is_supported = has_timer and threading.current_thread() is threading.main_thread()
        self._is_armed = False

    @contextlib.contextmanager
    def install_handler(self) -> Iterator[None]:
        """Install the signal handler during this context. At its end, restore the previous handler and timer."""
        if sys.platform == "win32" or not self._is_supported:
            yield
            return
        timer = signal.setitimer(signal.ITIMER_REAL, 0)
        before = signal.signal(signal.SIGALRM, self._on_alarm)
        try:
            yield
        finally:
            signal.signal(signal.SIGALRM, before)
            signal.setitimer(signal.ITIMER_REAL, *timer)

    def call(self, seconds: float | None, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function and return its result. Raise `TimeUp` in it after `seconds`; with None, never."""
        if sys.platform == "win32" or not self._is_supported or seconds is None:
            return function(*arguments)
        self._is_armed = True
        signal.setitimer(signal.ITIMER_REAL, seconds, self._repeat_interval_s)
        try:
            return function(*arguments)
        finally:
            self._is_armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _on_alarm(self, number: int, frame: FrameType | None) -> None:
        is_inside = frame is not None and frame.f_code is not CodeTimer.call.__code__
        if self._is_armed and is_inside:  # it may ring before the function has begun, or when it has ended
            raise TimeUp
