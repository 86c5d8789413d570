"""Lists of names as CSV, with what stands beside each name."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from arena.commands.text_tables import counted
from protocol.display import shown
from protocol.errors import UsageFault

NAME = "name"


class NameList(NamedTuple):
    """The rows of a file of names, with what stands beside each name; `lines` are theirs in the file."""

    columns: list[str]
    rows: list[dict[str, str]]
    lines: list[int]
    delimiter: str = ","


def read_name_list(file: Path, refused: Mapping[str, str] | None = None) -> NameList:
    """The names of a CSV file and all that stands beside them; `refused` are columns that it may not have, and why.

    Raises `UsageFault`, naming each line that is wrong.
    """
    try:
        text = file.read_text("utf-8-sig")
    except OSError as exc:
        raise UsageFault(f"{file} can't be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise UsageFault(f"{file} is not text in UTF-8: save it as CSV UTF-8") from exc
    head = text.partition("\n")[0]
    delimiter = ";" if ";" in head and "," not in head else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        while True:
            line = reader.line_num + 1
            fields = [field.strip() for field in next(reader)]
            if any(fields):
                rows.append((line, fields))
    except StopIteration:
        pass
    except csv.Error as exc:
        raise UsageFault(f"{file}, line {line}: not CSV: {exc}") from exc
    columns = rows[0][1] if rows else []
    wrong = list(_wrong_head(file, columns, refused or {}))
    wrong += [
        f"{file}, line {line}: it has {counted(len(fields), 'field', 'fields')}, the first line {len(columns)}"
        for line, fields in rows[1:]
        if len(fields) != len(columns)
    ]
    if wrong:
        raise UsageFault("\n".join(wrong))
    named = [dict(zip(columns, fields, strict=True)) for _, fields in rows[1:]]
    if not named:
        raise UsageFault(f"{file} has no names below its first line")
    return NameList(columns, named, [line for line, _ in rows[1:]], delimiter)


def _wrong_head(file: Path, columns: Sequence[str], refused: Mapping[str, str]) -> Iterator[str]:
    if NAME not in columns:
        there = f"there are {', '.join(map(shown, columns))}" if columns else "the file is empty"
        yield f"{file}, line 1: there is no column {NAME}, {there}: the first line names the columns, as in name,group"
    for column, why in refused.items():
        if column in columns:
            yield f"{file}, line 1: there is a column {column} already, and {why}: leave it out"
    for column in dict.fromkeys(columns):
        if columns.count(column) > 1:
            yield f"{file}, line 1: the column {column!r} is there {columns.count(column)} times"
