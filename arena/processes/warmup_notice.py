"""Why nothing is played yet: bots that warm up say so in their logs, and here it is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from machine.terminal import say
from protocol.bot_launch import WARMUP_SUFFIX
from protocol.display import cut

LOOK_EVERY, LOOK_FOR = 0.5, 60.0
"""Seconds."""
MOST_TOLD = 200
"""Characters of the line."""


@contextmanager
def tell_warm_ups(logs: Path) -> Iterator[threading.Event]:
    """Tell on standard error, once, that a bot warms up, if its log in the folder `logs` says so within a minute.

    It is told before the event is set, and while what is done inside goes on. What bots said earlier does not count.
    """
    enough = threading.Event()
    looking = threading.Thread(target=_look, args=(logs, _sizes(logs), enough), daemon=True)
    looking.start()
    try:
        yield enough
    finally:
        enough.set()
        looking.join()


def _sizes(logs: Path) -> dict[Path, int]:
    """How long each log is, in bytes; a log may go at any time."""
    sizes = {}
    for log in logs.glob("**/*.log"):
        with suppress(OSError):
            sizes[log] = log.stat().st_size
    return sizes


def _look(logs: Path, before: dict[Path, int], enough: threading.Event) -> None:
    until = time.monotonic() + LOOK_FOR
    while time.monotonic() < until and not enough.wait(LOOK_EVERY):
        for log in sorted(_sizes(logs)):
            line = _line(log, before.get(log, 0))
            if line is not None:
                say(f"arena: {cut(line, MOST_TOLD)}", err=True)
                return


def _line(log: Path, begins: int) -> str | None:
    """The line by which a bot says that it warms up, behind so many bytes of its log."""
    try:
        with log.open("rb") as file:
            file.seek(begins)
            lines = file.read(65536).decode(errors="replace").splitlines()
    except OSError:
        return None
    return next((line for line in lines if WARMUP_SUFFIX in line), None)
