"""What commands print in plain text: lines and tables as wide as a terminal is, numbers with their words."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING

from protocol.display import printable

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
"""What fits everywhere."""
ENDLESS = 100_000
"""Columns where nothing is folded: what reads a pipe takes a row for a line."""
_GAP = "  "
_NARROWEST = 8


def columns() -> int:
    """Those of the terminal that standard output is; elsewhere there is no end to them."""
    return os.get_terminal_size(sys.stdout.fileno()).columns or WIDTH if sys.stdout.isatty() else ENDLESS


def say(console: Console, text: str) -> None:
    """Print lines that may hold what strangers wrote."""
    console.print(printable(text, lines=True), markup=False)


def table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], *, elastic: int, left: Iterable[int] = (), width: int
) -> str:
    """Rows under their headers, aligned right but for the columns in `left`; column `elastic` is folded for all to be
    within `width`.
    """
    cells = [list(headers), *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    if over > 0:
        widths[elastic] = max(_NARROWEST, widths[elastic] - over)
    to_left = {elastic, *left}
    lines = []
    for row in cells:
        for shown in zip_longest(*map(_folded, row, widths), fillvalue=""):
            aligned = [
                cell.ljust(wide) if column in to_left else cell.rjust(wide)
                for column, (cell, wide) in enumerate(zip(shown, widths, strict=True))
            ]
            lines.append(_GAP.join(aligned).rstrip())
    return "\n".join(lines)


def counted(number: int, one: str, more: str) -> str:
    """A number with its word."""
    return f"{number} {one if number == 1 else more}"


def _folded(cell: str, width: int) -> list[str]:
    return [cell] if len(cell) <= width else wrap(cell, width, break_on_hyphens=False)
