"""Running the main function of a program, with one-line errors for faults, and uniform exit codes."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from machine import standard_streams
from machine.terminal import say
from protocol.errors import BotFault, Fault, UsageFault

_INTERRUPT_RETRY_DELAY_S = 0.05
"""Seconds until an interrupt (Ctrl-C) that Python dropped is sent again."""
_GC_GEN0_THRESHOLD = 20_000
"""Number of allocations after which Python collects garbage. The default, 700, makes start-up 5 % slower."""


def run_program(main: Callable[[], None], name: str) -> NoReturn:
    """Run `main` as the program called `name`. Exit with a status: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    gc.set_threshold(_GC_GEN0_THRESHOLD)
    standard_streams.prepare()
    code: object = 0
    try:
        with _resending_interrupts():
            main()
            sys.stdout.flush()
    except Fault as fault:
        say(f"{name}: {fault}", err=True)
        code = 2 if isinstance(fault, (BotFault, UsageFault)) else 1
    except KeyboardInterrupt:
        code = 130
    except SystemExit as stop:
        code = stop.code
    try:
        sys.stdout.flush()
    except Fault as fault:
        say(f"{name}: {fault}", err=True)
        code = code or 1
    except standard_streams.ReaderGone:
        pass
    except BrokenPipeError:  # the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(code)


@contextmanager
def _resending_interrupts() -> Iterator[None]:
    """Send Ctrl-C again after a short delay if Python drops it during the `with` block. Python drops a Ctrl-C that
    comes while an object is freed.
    """
    if sys.platform == "win32":
        yield
        return
    before = sys.unraisablehook
    main = threading.main_thread().ident
    assert main is not None

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is KeyboardInterrupt:
            again = threading.Timer(
                _INTERRUPT_RETRY_DELAY_S, signal.pthread_kill, (main, signal.SIGINT)
            )  # also ends a blocking call
            again.daemon = True
            again.start()
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
