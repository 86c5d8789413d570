"""Lists of names as CSV, as whoever runs an arena keeps them: a column `name`, with what stands beside each."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from protocol.display import counted, shown
from protocol.errors import UsageFault

NAME = "name"


class NameList(NamedTuple):
    """The rows of a file of names, with what stands beside each name; `lines` are theirs in the file."""

    columns: list[str]
    rows: list[dict[str, str]]
    lines: list[int]
    delimiter: str = ","


def parse_name_list(text: str, source: str, refused: Mapping[str, str] | None = None) -> NameList:
    """The names of a CSV and all that stands beside them; `refused` are columns that it may not have, and why.

    Raises `UsageFault`, naming the `source` and each line that is wrong.
    """
    head = text.partition("\n")[0]
    delimiter = ";" if ";" in head and "," not in head else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for fields in reader:
            if any(stripped := [field.strip() for field in fields]):
                rows.append((line, stripped))
            line = reader.line_num + 1
    except csv.Error as exc:
        raise UsageFault(f"{source}, line {line}: not CSV: {exc}") from exc
    columns = rows[0][1] if rows else []
    wrong = list(_wrong_head(source, columns, refused or {}))
    wrong += [
        f"{source}, line {line}: it has {counted(len(fields), 'field', 'fields')}, the first line {len(columns)}"
        for line, fields in rows[1:]
        if len(fields) != len(columns)
    ]
    if wrong:
        raise UsageFault("\n".join(wrong))
    named = [dict(zip(columns, fields, strict=True)) for _, fields in rows[1:]]
    if not named:
        raise UsageFault(f"{source} has no names below its first line")
    return NameList(columns, named, [line for line, _ in rows[1:]], delimiter)


def _wrong_head(source: str, columns: Sequence[str], refused: Mapping[str, str]) -> Iterator[str]:
    if NAME not in columns:
        there = f"there are {', '.join(map(shown, columns))}" if columns else "the file is empty"
        form = "the first line names the columns, as in name,group"
        yield f"{source}, line 1: there is no column {NAME}, {there}: {form}"
    for column, why in refused.items():
        if column in columns:
            yield f"{source}, line 1: there is a column {column} already, and {why}: leave it out"
    for column in dict.fromkeys(columns):
        if columns.count(column) > 1:
            yield f"{source}, line 1: the column {column!r} is there {columns.count(column)} times"
