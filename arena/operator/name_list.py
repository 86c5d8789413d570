"""Lists of names in CSV, like those that operators keep: a column `name`, and any further columns."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from protocol.display import format_count, short_repr
from protocol.errors import UsageFault

NAME_COLUMN = "name"
"""The name of the column with the names of bots."""
DISPLAY_COLUMN = "display"
"""The name of the column with the display names of bots."""
_COLUMN_DELIMITERS = (",", ";", "\t")
MAX_COLUMNS = 200
"""Maximum number of columns of a list.

The list of a course has about a dozen columns; a spreadsheet with all its empty columns has 16,384.
"""
MAX_MISTAKES = 50
"""Maximum number of mistakes in a list that an error message names.

An admin page shows the message. A message with 100,000 mistakes would block the process that makes the page.
"""
_SEPARATOR_LINE_PATTERN = re.compile(r"sep=([,;\t|])", re.IGNORECASE)
"""Matches a first line such as `sep=;`, with which spreadsheets declare the delimiter, and captures the delimiter."""


class NameList(NamedTuple):
    """A list of names: its columns, its rows (values by column), and the line number of each row in the file."""

    columns: list[str]
    rows: list[dict[str, str]]
    lines: list[int]
    delimiter: str = ","

    def document(self) -> str:
        """Return the list as CSV."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.delimiter, lineterminator="\n")
        writer.writerows([self.columns, *(row.values() for row in self.rows)])
        return text.getvalue()


def parse_name_list(
    text: str,
    source: str,
    forbidden_columns: Mapping[str, str] | None = None,
    known_columns: Sequence[str] = (NAME_COLUMN, DISPLAY_COLUMN),
) -> NameList:
    """Parse a CSV of names. `forbidden_columns` maps forbidden columns to reasons. Raise a `UsageFault` that names each
    wrong line.

    The dialects of spreadsheets are accepted: commas, semicolons or tabs, a first line `sep=;`, and empty columns at
    the end. A header may have `known_columns` in any case; the returned list has them spelt as in `known_columns`.
    """
    text = text.lstrip("\ufeff")
    delimiter, text, skipped = _detect_delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    line = 1 + skipped
    try:
        for fields in reader:
            if any(stripped := [field.strip() for field in fields]):
                rows.append((line, stripped))
            line = reader.line_num + 1 + skipped
    except csv.Error as exc:
        raise UsageFault(f"{source}, line {line}: not CSV: {exc}") from exc
    columns = _strip_empty_end(rows[0][1], 0) if rows else []
    if len(columns) > MAX_COLUMNS:
        said = f"it has {len(columns):,} columns, and a list has {MAX_COLUMNS} at most: leave out the others"
        raise UsageFault(f"{source}, line {rows[0][0]}: {said}")
    rows[1:] = [(line, _strip_empty_end(fields, len(columns))) for line, fields in rows[1:]]
    keys = _normalize_columns(columns, (*known_columns, *(forbidden_columns or ())))
    wrong = list(_check_header(source, rows[0][0] if rows else 1, keys, forbidden_columns or {}))
    wrong += [
        f"{source}, line {line}: it has {format_count(len(fields), 'field', 'fields')}, the first line {len(columns)}"
        for line, fields in rows[1:]
        if len(fields) != len(columns)
    ]
    if wrong:
        raise mistakes_fault(wrong)
    named = [dict(zip(keys, fields, strict=True)) for _, fields in rows[1:]]
    if not named:
        raise UsageFault(f"{source} has no names below its first line")
    return NameList(columns, named, [line for line, _ in rows[1:]], delimiter)


def mistakes_fault(mistakes: Sequence[str]) -> UsageFault:
    """Return the fault that names up to `MAX_MISTAKES` mistakes, a line each, and the number of further mistakes."""
    more = len(mistakes) - MAX_MISTAKES
    return UsageFault("\n".join([*mistakes[:MAX_MISTAKES], *([f"and {more:,} more"] if more > 0 else [])]))


def _detect_delimiter(text: str) -> tuple[str, str, int]:
    """Return a CSV's delimiter, its text without a line that declares it, and the number of such lines: 0 or 1."""
    head, _, rest = text.partition("\n")
    said = _SEPARATOR_LINE_PATTERN.fullmatch(head.strip('\r "'))
    if said is not None:
        return said[1], rest, 1
    found = max(_COLUMN_DELIMITERS, key=head.count)
    return found, text, 0


def _strip_empty_end(fields: list[str], min_fields: int) -> list[str]:
    most = len(fields)
    while most > min_fields and not fields[most - 1]:
        most -= 1
    return fields[:most]


def _normalize_columns(columns: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the columns of a header, each spelt as in `known` unless another column is spelt like that already."""
    usual = {name.casefold(): name for name in known if name not in columns}
    return [usual.get(column.casefold(), column) for column in columns]


def is_headed(text: str) -> bool:
    """Return whether a text is a CSV with a line of headers. Otherwise it has one name per line."""
    head = text.lstrip("\ufeff").partition("\n")[0]
    return any(each in head for each in _COLUMN_DELIMITERS) or head.strip().casefold() == NAME_COLUMN


def _check_header(source: str, line: int, columns: Sequence[str], refused: Mapping[str, str]) -> Iterator[str]:
    if NAME_COLUMN not in columns:
        there = f"the columns are {', '.join(map(short_repr, columns))}" if columns else "the file is empty"
        form = "the first line names the columns, as in name,group"
        yield f"{source}, line {line}: the column {NAME_COLUMN} is missing, {there}: {form}"
    for column, why in refused.items():
        if column in columns:
            yield f"{source}, line {line}: there is a column {column} already, and {why}: leave it out"
    for column, times in Counter(columns).items():
        if times > 1:
            yield f"{source}, line {line}: the column {short_repr(column)} is there {times} times"
