"""Rows as CSV: what is not there is empty, truth is `true` or `false`."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from arena.store.export_rows import TRUTH, Columns
from protocol.shown import printable


class Writer:
    """Writes rows, in the order of the columns, to a text file that is open with `newline=""`."""

    def __init__(self, file: TextIO, columns: Columns) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._truths = [at for at, kind in enumerate(columns.values()) if kind == TRUTH]
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
