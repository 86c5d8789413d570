"""Reports the progress of long commands, and the time left, on standard error."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.progress import track

from machine.console import Console
from machine.terminal import say

T = TypeVar("T")
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
