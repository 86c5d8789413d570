"""What commands have in common: the option for JSON, plain tables, what is said where one is stopped."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from machine.terminal import say

ENDLESS = 100_000
"""Columns where nothing is folded: what reads a pipe takes a row for a line."""
STOPPED = 130
"""The exit code of a program that was interrupted."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, header: bool = True) -> None:
    """One line a row, unless a terminal is too narrow; the columns of a table with a `header` are numbers but for the
    first.
    """
    from rich import box
    from rich.table import Table

    from machine.console import Console

    table = Table(box=box.SIMPLE_HEAD if header else None, show_header=header, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if header and i else "left")
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else ENDLESS).print(table)


@contextmanager
def stoppable(told: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C or SIGTERM inside ends the program with the line that `told` gives. Raises `SystemExit`."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        say(f"arena-bot: {told()}", err=True)
        raise SystemExit(STOPPED) from None
