"""Running a command-line program, with one-line errors for faults and wrong usage, and uniform exit codes."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import typer

from machine import standard_streams
from machine.terminal import say
from protocol.errors import BotFault, Fault, UsageFault

_ParseError: type[Exception] = typer.BadParameter.__mro__[1]
"""The base class of all usage errors of Typer, which exports only some of them."""
_INTERRUPT_RETRY_DELAY_S = 0.05
"""Seconds until an interrupt (Ctrl-C) that Python dropped is sent again."""
_GC_GEN0_THRESHOLD = 20_000
"""Number of allocations after which Python collects garbage. The default, 700, makes start-up 5 % slower."""
_WRONG_TYPE_PATTERN = re.compile(r"Invalid value for (.+): Input should be a valid ([a-z]+)\b.*")
"""The pattern of Typer's message about a value of the wrong type."""


def run(app: typer.Typer, name: str, words: Sequence[str] | None = None) -> NoReturn:
    """Run the program called `name` and exit with a status: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    gc.set_threshold(_GC_GEN0_THRESHOLD)
    standard_streams.prepare()
    code: object = 0
    try:
        with _resending_interrupts():
            run_command(app, words)
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


def run_command(app: typer.Typer, words: Sequence[str] | None = None, program_name: str | None = None) -> None:
    """Run the command of `app` that `words` name, by default the words of the process's command line. In help texts,
    the program is called `program_name`.

    Raise `UsageFault` for wrong usage, and `SystemExit` if the command exits with a status other than 0.
    """
    try:
        code = app(words, prog_name=program_name, standalone_mode=False)
    except _ParseError as exc:
        raise _to_fault(exc) from exc
    if isinstance(code, int) and code:
        raise SystemExit(code)


def _to_fault(exc: Exception) -> UsageFault | SystemExit:
    """Return the exception to raise for a usage error of Typer. If a command that needs arguments has none, print its
    help and return `SystemExit`.
    """
    text = exc.format_message()  # type: ignore[attr-defined]
    if "\n" in text:
        say(text, err=True)
        return SystemExit(2)
    text = _WRONG_TYPE_PATTERN.sub(_format_type_error, text).rstrip(".")
    context = exc.ctx  # type: ignore[attr-defined]
    where = f"; `{context.command_path} --help` says what there is" if context else ""
    return UsageFault(text[:1].lower() + text[1:] + where)


def _format_type_error(found: re.Match[str]) -> str:
    return f"{found[1]} takes {'an' if found[2][0] in 'aeiou' else 'a'} {found[2]}"
