"""The common parts of commands: the option for JSON, plain tables, and the message when a command is interrupted."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from machine.terminal import say

UNLIMITED_WIDTH = 100_000
"""The width in characters of a table that is not printed on a terminal. Its rows are not folded, because a program
reads each as one line."""
INTERRUPTED_EXIT_CODE = 130
"""The exit code of an interrupted program."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, header: bool = True) -> None:
    """Print a table, folded on a narrow terminal. With `header`, all columns but the first are numbers."""
    from rich import box
    from rich.table import Table

    from machine.console import Console

    table = Table(box=box.SIMPLE_HEAD if header else None, show_header=header, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if header and i else "left")
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else UNLIMITED_WIDTH).print(table)


@contextmanager
def exit_on_interrupt(message: Callable[[], str]) -> Iterator[None]:
    """Print the line that `message` returns and raise `SystemExit` if Ctrl-C or SIGTERM arrives in this context."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        say(f"arena-bot: {message()}", err=True)
        raise SystemExit(INTERRUPTED_EXIT_CODE) from None
