"""Running the main function of a program, with one-line errors for faults, and uniform exit codes."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from machine import standard_streams
from machine.interrupts import interrupts_resent
from machine.terminal import say
from protocol.errors import BotFault, Fault, UsageFault

_GC_GEN0_THRESHOLD = 20_000
"""Number of allocations after which Python collects garbage. The default, 700, makes start-up 5 % slower."""


def run_program(main: Callable[[], None], name: str) -> NoReturn:
    """Run `main` as the program called `name`. Exit with a status: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    gc.set_threshold(_GC_GEN0_THRESHOLD)
    standard_streams.prepare()
    code: object = 0
    try:
        with interrupts_resent():
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
