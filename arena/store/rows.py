"""Conversion of rows of the database to structs and named tuples: a column gives the field with its name.

SQLite has numbers for truth values; they become `bool` where the field is one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, TypeVar, get_type_hints

from sqlalchemy import Row

T = TypeVar("T")


def read_row(kind: type[T], row: Row[Any], **further: Any) -> T:
    """Return the `kind` that a row holds. Fields that are not columns, or have another form, are given by name."""
    names, truths = _fields(kind)  # type: ignore[arg-type]
    columns = row._mapping  # it takes less time than the attributes of a row
    fields = {name: columns[name] for name in names if name not in further}
    for name in truths:
        if name in fields:
            fields[name] = bool(fields[name])
    return kind(**fields, **further)


def read_rows(kind: type[T], rows: Iterable[Row[Any]]) -> list[T]:
    """Return the `kind` of each row."""
    return [read_row(kind, row) for row in rows]


@functools.cache
def _fields(kind: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the fields of a struct or named tuple, and of those among them that are truth values."""
    names = kind._fields if issubclass(kind, tuple) else kind.__struct_fields__
    types = get_type_hints(kind)
    return names, tuple(name for name in names if types[name] is bool)
