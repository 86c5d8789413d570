"""JSON and CSV as commands write them, for people and programs alike: nothing in it that a terminal would obey."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from arena.store.export_rows import BOOLEAN, Columns
from machine.atomic_write import in_place_of
from protocol.display import printable, printable_json
from protocol.errors import ArenaFault


class Writer:
    """Writes rows, in the order of the columns, to a text file that is open with `newline=""`."""

    def __init__(self, file: TextIO, columns: Columns) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._truths = [at for at, kind in enumerate(columns.values()) if kind == BOOLEAN]
        self._writer.writerow(columns)

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        """Write some more."""
        self._writer.writerows(map(self._told, rows) if self._truths else rows)

    def _told(self, row: Sequence[Any]) -> Sequence[Any]:
        told = list(row)
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


def write_document(file: Path, value: Any) -> None:
    """Write a value as lines of JSON, whole or not at all. Raises `ArenaFault`."""
    try:
        with in_place_of(file) as temporary:
            temporary.write_bytes(document(value))
    except OSError as exc:
        raise ArenaFault(f"{file} can't be written: {exc.strerror}") from exc


def print_document(value: Any) -> None:
    """Print a value as lines of JSON."""
    print(document(value).decode(), end="")


def print_list(values: Iterable[Any]) -> None:
    """Print values as a list in lines of JSON, each as it comes."""
    before = "["
    for value in values:
        indented = document(value).decode().rstrip().replace("\n", "\n  ")
        print(f"{before}\n  {indented}", end="")
        before = ","
    print("[]" if before == "[" else "\n]")


def print_line(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(printable_json(msgspec.json.encode(value).decode()))
