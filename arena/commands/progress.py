"""Reports the progress of long commands, and the time left, on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.progress import track

from machine.console import Console
from machine.terminal import say

T = TypeVar("T")
TERMINAL_INTERVAL_S = 0.1
"""Minimum number of seconds between two changes of a line on a terminal."""
FIRST_MESSAGE_DELAY_S, MESSAGE_INTERVAL_S = 5.0, 30.0
"""Seconds until the first progress message (`FIRST_MESSAGE_DELAY_S`), and between two later ones
(`MESSAGE_INTERVAL_S`)."""


def track_progress(items: Iterable[T], count: int, description: str) -> Iterable[T]:
    """Yield `count` items, and report how many are done: with a bar on a terminal, else with a line every 30 seconds.

    `description` names the work.
    """
    console = Console(stderr=True)
    if console.is_terminal:
        return track(items, description, total=count, console=console, transient=True)
    return _report_progress(items, count, description)


def _report_progress(things: Iterable[T], count: int, doing: str) -> Iterator[T]:
    began = time.monotonic()
    due = began + FIRST_MESSAGE_DELAY_S
    for done, thing in enumerate(things):
        yield thing
        now = time.monotonic()
        if now >= due:
            left = (now - began) / (done + 1) * (count - done - 1)
            say(f"arena: {doing}: {done + 1} of {count}, some {left:.0f} s left", err=True)
            due = now + MESSAGE_INTERVAL_S


@contextmanager
def show_progress() -> Iterator[Callable[[Callable[[], str]], None]]:
    """Yield a function that shows what a command does now. It takes a function that returns the text, and calls it when
    the text is shown: in a line that changes on a terminal, else in a line every 30 seconds.
    """
    console = Console(stderr=True)
    due = time.monotonic() + (0.0 if console.is_terminal else FIRST_MESSAGE_DELAY_S)

    def show(describe: Callable[[], str]) -> None:
        nonlocal due
        now = time.monotonic()
        if now < due:
            return
        if status is None:
            say(f"arena: {describe()}", err=True)
            due = now + MESSAGE_INTERVAL_S
        else:
            status.update(describe())
            due = now + TERMINAL_INTERVAL_S

    if not console.is_terminal:
        status = None
        yield show
        return
    with console.status("") as status:
        yield show
