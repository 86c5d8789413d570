"""A notice that explains why no match has started yet: a bot is warming up, according to its log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from machine.terminal import say
from protocol.bot_launch import WARMUP_SUFFIX
from protocol.display import truncate

CHECK_INTERVAL_S, CHECK_TIMEOUT_S = 0.5, 60.0
"""The bots' logs are checked every `CHECK_INTERVAL_S` seconds, until `CHECK_TIMEOUT_S` seconds have passed."""
MAX_NOTICE_CHARS = 200
"""Maximum characters of the notice that a bot is warming up."""


@contextmanager
def announce_warmups(logs: Path, pattern: str = "**/*.log") -> Iterator[Callable[[], None]]:
    """Watch the logs of bots in a folder, those that match a pattern. When a bot says that it warms up, print one
    notice to standard error.

    The watch ends after a minute, when the yielded function is called, or on exit. Older lines of the logs are ignored.
    """
    watching = threading.Lock()  # held until the watch ends; Ctrl-C could leave the lock in an `Event` held for ever
    watching.acquire()

    def end_watch() -> None:
        if watching.locked():
            watching.release()

    sizes = _log_sizes(logs, pattern)
    looking = threading.Thread(target=_watch_logs, args=(logs, pattern, sizes, watching), daemon=True)
    looking.start()
    try:
        yield end_watch
    finally:
        end_watch()
        looking.join()


def _log_sizes(logs: Path, pattern: str) -> dict[Path, int]:
    sizes = {}
    with suppress(OSError):  # a folder below may be removed while it is read
        for log in logs.glob(pattern):
            with suppress(OSError):
                sizes[log] = log.stat().st_size
    return sizes


def _watch_logs(logs: Path, pattern: str, before: dict[Path, int], watching: threading.Lock) -> None:
    until = time.monotonic() + CHECK_TIMEOUT_S
    while time.monotonic() < until and not watching.acquire(timeout=CHECK_INTERVAL_S):
        for log in sorted(_log_sizes(logs, pattern)):
            line = _find_warmup_line(log, before.get(log, 0))
            if line is not None and watching.locked():
                say(f"arena: {truncate(line, MAX_NOTICE_CHARS)}", err=True)
                return


def _find_warmup_line(log: Path, offset: int) -> str | None:
    """Return the line in which a bot says that it warms up, or None. Skip the first `offset` bytes of its log."""
    try:
        with log.open("rb") as file:
            file.seek(offset)
            lines = file.read(65536).decode(errors="replace").splitlines()
    except OSError:
        return None
    return next((line for line in lines if WARMUP_SUFFIX in line), None)
