"""`arena` and `arena-bot`, run to their end: in this process, or in one of their own as a user starts them."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

import arena.cli
import bots.cli
import zygote
from machine import event_loop
from process_tree import children, descendants
from timeouts import PATIENT_ENVIRON, WITHIN

REPOSITORY = Path(__file__).parents[1]
FAULTY = Path(__file__).with_name("faulty_bots.py")
NICENESS_KEPT = {"ARENA_MAX_NICENESS": "0"}
"""A command that is called in this process must not lower the priority of all later tests."""
_MOVES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
MODULES = {"arena": "arena", "arena-bot": "bots"}
MAINS: dict[str, Callable[[], None]] = {"arena": arena.cli.main, "arena-bot": bots.cli.main}


class Done(NamedTuple):
    """What a command left behind: its exit code, and what it said on standard output and error."""

    code: int
    out: str
    err: str


def call(program: str, *words: str, **environ: str) -> Done:
    """Run a command line in this process, with nothing of ARENA_… in its environment but what is given.

    Bots and servers that it starts are forked where they can be (`zygote.children_forked`). What it sets in the process
    is set back, and an exception that escapes is raised. An event loop may call it in a thread while it waits.
    """
    out, err = io.StringIO(), io.StringIO()
    with (
        as_program([program, *words], environ),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as stop,
    ):
        MAINS[program]()
    assert isinstance(stop.value.code, int)
    return Done(stop.value.code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def as_program(argv: list[str], environ: Mapping[str, str]) -> Iterator[None]:
    """Have nothing of ARENA_… in the environment but what is given; set back at the end what a program sets."""
    thresholds = gc.get_threshold()
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM) if is_main}
    with pytest.MonkeyPatch.context() as patch, zygote.children_forked():
        for key in [key for key in os.environ if key.startswith("ARENA_")]:
            patch.delenv(key)
        for key, value in {**NICENESS_KEPT, **environ}.items():
            patch.setenv(key, value)
        patch.setattr(event_loop, "relax_gc", lambda: None)  # going through all of pytest's objects takes long
        patch.setattr(sys, "argv", argv)
        patch.setattr(sys.modules["__main__"], "__package__", None)  # else the usage is that of `python -m pytest`
        try:
            yield
        finally:
            gc.set_threshold(*thresholds)
            for number, handler in handlers.items():
                signal.signal(number, handler)


def run(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command line to its end, with nothing of ARENA_… in its environment but what is given.

    It is forked from the zygote.
    """
    with started(*command, **environ) as process:
        out, err = process.communicate(timeout=WITHIN)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def at_terminal(*command: str, **environ: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """The same where standard error is a terminal; and what that is shown, without what moves and colours it."""
    ours, theirs = pty.openpty()
    with (
        open(ours, "rb", buffering=0) as screen,
        started(*command, stderr=theirs, **{"TERM": "xterm", **environ}) as process,
    ):
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # there is nobody left to write
            while select.select([screen], [], [], WITHIN)[0]:
                shown += screen.read(65536)
        out, _ = process.communicate(timeout=WITHIN)
    return subprocess.CompletedProcess(command, process.returncode, out), _MOVES.sub("", shown.decode())


def on_terminal(prints: Callable[[], object], columns: int = 80) -> str:
    """What a call shows, in this process, where standard output is a terminal, without what moves and colours it."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    with open(ours, "rb", buffering=0) as screen, ThreadPoolExecutor(1) as beside:
        shown = beside.submit(_all_of, screen)
        with open(theirs, "w") as terminal, contextlib.redirect_stdout(terminal):
            prints()
        return _MOVES.sub("", shown.result().decode()).replace("\r\n", "\n")


def _all_of(screen: io.FileIO) -> bytes:
    shown = b""
    with contextlib.suppress(OSError):  # there is nobody left to write
        while part := screen.read(65536):
            shown += part
    return shown


def user_environ(**environ: str) -> dict[str, str]:
    """Return the environment of this process with nothing of ARENA_… but what is given, and a plain terminal."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("ARENA_")}
    return {**inherited, "TERM": "dumb", **environ}


@contextlib.contextmanager
def started(*command: str, stderr: int = subprocess.PIPE, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command, which is forked from the zygote, and kill it at the end if it still runs."""
    process = zygote.program(
        [MODULES[command[0]], *command[1:]],
        env=user_environ(**{**PATIENT_ENVIRON, **environ}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def faulty(kind: str) -> str:
    """The words of a tournament for a bot of tests/faulty_bots.py, under the name of its kind."""
    return f"{kind}={sys.executable} {FAULTY} {kind}"


def passing(names: Iterable[str]) -> list[str]:
    """The words of a tournament that let its bots have these variables."""
    return [f"--pass-env={name}" for name in names]


def of_workers(pid: int) -> list[int]:
    """The processes that the workers of a tournament have started and that still run: keepers, and the bots."""
    return [process for worker in children(pid) for process in descendants(worker)]


def ends(pid: int, within: float = WITHIN) -> bool:
    """Wait for the end of a process that is not ours."""
    try:
        end = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([end], [], [], within)[0])
    finally:
        os.close(end)
