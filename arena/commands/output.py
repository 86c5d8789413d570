"""What commands print, for people and programs alike: text as wide as a terminal is, numbers with their words, JSON and
CSV. Nothing in it is what a terminal would obey.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from machine.output_file import STDOUT, write_output
from machine.terminal import say
from protocol.display import csv_cell, printable, printable_json
from protocol.errors import ArenaFault, UsageFault

if TYPE_CHECKING:
    from arena.store.export_rows import Columns

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


def table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], *, elastic: int, left: Iterable[int] = (), width: int
) -> str:
    """Rows under their headers, aligned right but for the columns in `left`; column `elastic` is folded for all to be
    within `width`.
    """
    from rich.table import Table

    from machine.console import Console

    to_left = {elastic, *left}
    shown = Table(box=None, pad_edge=False)
    for column, header in enumerate(headers):
        folds = column == elastic
        shown.add_column(header, justify="left" if column in to_left else "right", no_wrap=not folds, overflow="fold")
    for row in rows:
        shown.add_row(*(printable(str(cell)) for cell in row))
    console = Console(width=width, file=io.StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(shown)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def redraw(lines: Sequence[str]) -> None:
    """Show lines in place of what is on the terminal. What is too long for it scrolls, so that its end is seen."""
    from machine.console import Console

    width, height = screen_size()
    if len(lines) > height:
        lines = [*lines[:-1], f"{lines[-1]} ({len(lines)} lines, the terminal shows {height})"]
    console = Console(width=width, height=height)
    console.clear()
    console.print("\n".join(map(printable, lines)), no_wrap=True, overflow="crop", crop=True, end="")


def minute(time: str) -> str:
    """A time of a record as people read it, to the minute."""
    return time[:16].replace("T", " ")


class Writer:
    """Writes rows, in the order of the columns, to a text file that is open with `newline=""`; a text that a
    spreadsheet would compute is kept from it, as `csv_cell` does.
    """

    def __init__(self, file: TextIO, columns: Columns) -> None:
        from arena.store.export_rows import BOOLEAN  # loads the database, for which not every command has a use

        self._writer = csv.writer(file, lineterminator="\n")
        self._truths = [at for at, kind in enumerate(columns.values()) if kind == BOOLEAN]
        self._writer.writerow(columns)

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        """Write some more."""
        self._writer.writerows(map(self._told, rows))

    def _told(self, row: Sequence[Any]) -> Sequence[Any]:
        told = [csv_cell(cell) if type(cell) is str else cell for cell in row]
        for at in self._truths:
            told[at] = "true" if row[at] else "false"
        return told


def print_csv(columns: Columns, rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under the names of their columns; in what strangers wrote is nothing that a terminal would obey."""
    Writer(sys.stdout, columns).write(map(_printable, rows))


def _printable(row: Sequence[Any]) -> Sequence[Any]:
    return [printable(value) if isinstance(value, str) else value for value in row]


def document(value: Any) -> bytes:
    """A value as lines of JSON."""
    return (printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()) + "\n").encode()


@contextmanager
def writing(to: Path) -> Iterator[None]:
    """Say of a file or folder that is written inside why it can't be.

    Raises `ArenaFault`, and `UsageFault` where what is to be new is there already.
    """
    try:
        yield
    except FileExistsError:
        raise UsageFault(f"{to} already exists; not overwritten: choose another name") from None
    except OSError as exc:
        raise ArenaFault(f"{to} can't be written: {exc.strerror or exc}") from exc


def write_document(file: Path, value: Any) -> None:
    """Write a value as lines of JSON to what a person named: a file whole or not at all. Raises `ArenaFault`."""
    with writing(file):
        write_output(file, document(value))


def check_is_file(option: str, path: Path) -> None:
    """Raise `UsageFault` where `-` is named, which stands for standard output, and a file or a folder is needed."""
    if path == STDOUT:
        raise UsageFault(f"{option} is a file or folder of its own, and - is standard output: name one")


def print_document(value: Any) -> None:
    """Print a value as lines of JSON."""
    say(document(value).decode(), end="")


def print_list(values: Iterable[Any]) -> None:
    """Print values as a list in lines of JSON, each as it comes."""
    before = "["
    for value in values:
        indented = document(value).decode().rstrip().replace("\n", "\n  ")
        say(f"{before}\n  {indented}", end="")
        before = ","
    say("[]" if before == "[" else "\n]")


def print_line(value: Any) -> None:
    """Print a value as one line of JSON."""
    say(printable_json(msgspec.json.encode(value).decode()))
