"""What commands print in plain text: lines and tables as wide as a terminal is, numbers with their words."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from protocol.display import printable

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
"""What fits everywhere."""
ENDLESS = 100_000
"""Columns where nothing is folded: what reads a pipe takes a row for a line."""


def columns() -> int:
    """Those of the terminal that standard output is; elsewhere there is no end to them."""
    return screen_size()[0] if sys.stdout.isatty() else ENDLESS


def screen_size() -> tuple[int, int]:
    """Columns and lines of the terminal that standard output is; of one that does not know, what most have."""
    found = os.get_terminal_size(sys.stdout.fileno())
    return found.columns or WIDTH, found.lines or 24


def say(console: Console, text: str) -> None:
    """Print lines that may hold what strangers wrote."""
    console.print(printable(text, lines=True), markup=False)


def table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], *, elastic: int, left: Iterable[int] = (), width: int
) -> str:
    """Rows under their headers, aligned right but for the columns in `left`; column `elastic` is folded for all to be
    within `width`.
    """
    from rich.table import Table

    to_left = {elastic, *left}
    shown = Table(box=None, pad_edge=False)
    for column, header in enumerate(headers):
        folds = column == elastic
        shown.add_column(header, justify="left" if column in to_left else "right", no_wrap=not folds, overflow="fold")
    for row in rows:
        shown.add_row(*(printable(str(cell)) for cell in row))
    console = _console(width=width, file=io.StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(shown)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def redraw(lines: Sequence[str]) -> None:
    """Show lines in place of what is on the terminal. What is too long for it scrolls, so that its end is seen."""
    width, height = screen_size()
    if len(lines) > height:
        lines = [*lines[:-1], f"{lines[-1]} ({len(lines)} lines, the terminal shows {height})"]
    console = _console(width=width, height=height)
    console.clear()
    console.print("\n".join(map(printable, lines)), no_wrap=True, overflow="crop", crop=True, end="")


def _console(**options: Any) -> Console:
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, **options)


def counted(number: int, one: str, more: str) -> str:
    """A number with its word."""
    return f"{number} {one if number == 1 else more}"


def minute(time: str) -> str:
    """A time of a record as people read it, to the minute."""
    return time[:16].replace("T", " ")
