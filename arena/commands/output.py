"""Prints tables, JSON and CSV for commands, wrapped to the terminal. Control characters in the data are escaped, so a
terminal never obeys them.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from machine.atomic_write import check_replaceable
from machine.output_file import STDOUT, write_output
from machine.terminal import say
from protocol.display import csv_cell, escape_unprintable, printable_json
from protocol.errors import ArenaFault, UsageFault, os_errors_as
from protocol.reasons import DRAW, WIN

if TYPE_CHECKING:
    from arena.store.export_rows import Columns

DEFAULT_COLUMNS = 80
"""A width of output, in columns, that fits on every terminal."""
UNLIMITED_COLUMNS = 100_000
"""Width in columns of output to a file or pipe. Such output is not wrapped: programs expect one line per row."""


def terminal_columns() -> int:
    """Return the width of the terminal on standard output, or `UNLIMITED_COLUMNS` if it is no terminal."""
    return screen_size()[0] if sys.stdout.isatty() else UNLIMITED_COLUMNS


def screen_size() -> tuple[int, int]:
    """Return the columns and lines of the terminal on standard output; 80 and 24 if the terminal does not know them."""
    found = os.get_terminal_size(sys.stdout.fileno())
    return found.columns or DEFAULT_COLUMNS, found.lines or 24


def format_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    wrapped_column: int,
    left_columns: Iterable[int] = (),
    width: int,
) -> str:
    """Format a table: the headers, and the rows below them.

    The columns in `left_columns` and `wrapped_column` are aligned left, all others right. The text in `wrapped_column`
    wraps to keep the table within `width`.
    """
    from rich.table import Table

    from machine.console import Console

    to_left = {wrapped_column, *left_columns}
    shown = Table(box=None, pad_edge=False)
    for column, header in enumerate(headers):
        folds = column == wrapped_column
        shown.add_column(header, justify="left" if column in to_left else "right", no_wrap=not folds, overflow="fold")
    for row in rows:
        shown.add_row(*(escape_unprintable(str(cell)) for cell in row))
    console = Console(width=width, file=io.StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(shown)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def redraw(lines: Sequence[str]) -> None:
    """Replace the terminal's content by these lines. If they are too many, show the last ones and the number of all."""
    from machine.console import Console

    width, height = screen_size()
    if len(lines) > height:
        lines = [*lines[:-1], f"{lines[-1]} ({len(lines)} lines, the terminal shows {height})"]
    console = Console(width=width, height=height)
    console.clear()
    console.print("\n".join(map(escape_unprintable, lines)), no_wrap=True, overflow="crop", crop=True, end="")


def format_minute(time: str) -> str:
    """Return a time of a record as text to the minute, like `2024-05-01 12:30`."""
    return time[:16].replace("T", " ")


class CsvWriter:
    """Writes rows to a CSV file that was opened with `newline=""`. `csv_cell` escapes cells that look like formulas."""

    def __init__(self, file: TextIO, columns: Columns) -> None:
        from arena.store.export_rows import BOOLEAN_TYPE  # loads the database code, which not every command needs

        self._writer = csv.writer(file, lineterminator="\n")
        self._truths = [at for at, kind in enumerate(columns.values()) if kind == BOOLEAN_TYPE]
        self._writer.writerow(columns)

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        self._writer.writerows(map(self._convert_row, rows))

    def _convert_row(self, row: Sequence[Any]) -> Sequence[Any]:
        told = [csv_cell(cell) if type(cell) is str else cell for cell in row]
        for at in self._truths:
            told[at] = "true" if row[at] else "false"
        return told


def print_csv(columns: Columns, rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as CSV with a header. Control characters in the text are escaped."""
    CsvWriter(sys.stdout, columns).write(map(_printable, rows))


def _printable(row: Sequence[Any]) -> Sequence[Any]:
    return [escape_unprintable(value) if isinstance(value, str) else value for value in row]


def encode_document(value: Any) -> bytes:
    return (printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()) + "\n").encode()


@contextmanager
def translate_write_errors(to: Path) -> Iterator[None]:
    """Translate OS errors of writing the file `to` within the context.

    Raise `UsageFault` if `to` exists already, and `ArenaFault` for any other OS error.
    """
    try:
        yield
    except FileExistsError:
        raise UsageFault(f"{to} already exists and is not overwritten: choose another name") from None
    except OSError as exc:
        raise ArenaFault(f"{to} can't be written: {exc.strerror or exc}") from exc


def write_document(file: Path, value: Any) -> None:
    """Write a value as indented JSON to a file, all or nothing. Raise `ArenaFault` if that fails."""
    with translate_write_errors(file):
        write_output(file, encode_document(value))


def check_is_file(option: str, path: Path) -> None:
    """Raise `UsageFault` if the path cannot be a file or folder: `-`, standard output or a device."""
    if path == STDOUT:
        raise UsageFault(f"{option} is a file or folder of its own, and - is standard output: name one")
    with os_errors_as(UsageFault, f"{option} {path} can't be written"):
        check_replaceable(path)


def print_document(value: Any) -> None:
    say(encode_document(value).decode(), end="")


def print_list(values: Iterable[Any]) -> None:
    """Print values as an indented JSON list, each as soon as it is available."""
    before = "["
    for value in values:
        indented = encode_document(value).decode().rstrip().replace("\n", "\n  ")
        say(f"{before}\n  {indented}", end="")
        before = ","
    say("[]" if before == "[" else "\n]")


def print_line(value: Any) -> None:
    """Print a value as one line of JSON."""
    say(printable_json(msgspec.json.encode(value).decode()))


def format_endings(counts: Mapping[str, int]) -> str:
    """Return how many matches ended for each reason, like `decided 150, drawn 12, timeout 2`.

    The reason `win` is called `decided`: after a bot's name, `win` would read as wins of that bot.
    """
    words = {WIN: "decided", DRAW: "drawn"}
    return ", ".join(f"{words.get(reason, reason.replace('_', ' '))} {count}" for reason, count in counts.items())
