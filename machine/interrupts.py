"""Deferring Ctrl-C while the main thread uses locks of the standard library.

Python raises `KeyboardInterrupt` between any two calls. If that is within `threading.Condition.__enter__` or
`concurrent.futures.wait`, a lock stays acquired for ever, and the next thread that needs it never goes on.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Call the handlers of SIGINT and SIGTERM, which may raise `KeyboardInterrupt`, at the end of the context only. Do
    nothing in other threads than the main thread, as Python calls no handlers there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    try:
        with ExitStack() as handlers:
            for number in (signal.SIGINT, signal.SIGTERM):
                if callable(handler := signal.getsignal(number)):
                    handlers.callback(signal.signal, number, handler)
                    signal.signal(number, lambda arrived, frame: received.append(arrived))
            yield
    finally:
        for due in received:
            signal.raise_signal(due)
