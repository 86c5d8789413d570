"""Two ways of not losing Ctrl-C: deferring it while the main thread uses locks of the standard library, and sending it
again where Python drops it.

Python raises `KeyboardInterrupt` between any two calls. If that is within `threading.Condition.__enter__` or
`concurrent.futures.wait`, a lock stays acquired for ever, and the next thread that needs it never goes on.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_INTERRUPT_RETRY_DELAY_S = 0.05
"""Seconds until an interrupt (Ctrl-C) that Python dropped is sent again."""


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


@contextmanager
def interrupts_resent() -> Iterator[None]:
    """Send Ctrl-C again after a short delay if Python drops it in the context. Python drops a Ctrl-C that comes while
    an object is freed, or in a callback of garbage collection.
    """
    if sys.platform == "win32":
        yield
        return
    before = sys.unraisablehook
    main = threading.main_thread().ident
    assert main is not None

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is KeyboardInterrupt:
            # a signal to the thread also ends a call that blocks
            again = threading.Timer(_INTERRUPT_RETRY_DELAY_S, signal.pthread_kill, (main, signal.SIGINT))
            again.daemon = True
            again.start()
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
