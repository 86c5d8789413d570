"""Tables as files, CSV or Parquet, that take rows as they come: never all of them are in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from arena.commands.output import Writer
from arena.store.export_rows import BOOLEAN, INTEGER, REAL, TEXT, TIME, Columns
from protocol.errors import UsageFault

GROUP = 20_000
"""Rows that Parquet has in a group, and that are in memory."""


class RowFile(Protocol):
    """A file of rows that is being written."""

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take some more."""


class _Parquet:
    def __init__(self, file: Path, columns: Columns, held: ExitStack) -> None:
        import pyarrow
        import pyarrow.parquet

        kinds = {
            TEXT: pyarrow.string(),
            INTEGER: pyarrow.int64(),
            REAL: pyarrow.float64(),
            BOOLEAN: pyarrow.bool_(),
            TIME: pyarrow.timestamp("ms", tz="UTC"),
        }
        self._arrow = pyarrow
        self._columns = list(columns.values())
        self._schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
        self._writer = held.enter_context(pyarrow.parquet.ParquetWriter(file, self._schema, compression="zstd"))
        self._waiting: list[Sequence[Any]] = []
        held.callback(self._flush)

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            self._waiting.append(row)
            if len(self._waiting) == GROUP:
                self._flush()

    def _flush(self) -> None:
        if self._waiting:
            arrays = map(self._array, zip(*self._waiting, strict=True), self._columns, self._schema)
            self._writer.write_batch(self._arrow.record_batch(list(arrays), schema=self._schema))
            self._waiting = []

    def _array(self, values: Sequence[Any], kind: str, field: Any) -> Any:
        if kind == BOOLEAN:
            values = [None if value is None else bool(value) for value in values]
        if kind == TIME:
            return self._arrow.array(values, self._arrow.string()).cast(field.type)
        return self._arrow.array(values, field.type)


def _csv(file: Path, columns: Columns, held: ExitStack) -> RowFile:
    return Writer(held.enter_context(file.open("w", encoding="utf-8", newline="")), columns)


_OPENING: dict[str, Callable[[Path, Columns, ExitStack], RowFile]] = {"csv": _csv, "parquet": _Parquet}
FORMATS = tuple(_OPENING)


def opened(folder: Path, table: str, columns: Columns, form: str, held: ExitStack) -> RowFile:
    """A new file of a table in a folder, in one of `FORMATS`, which is complete when `held` ends.

    Raises `UsageFault` where what writes it is not installed.
    """
    try:
        return _OPENING[form](folder / f"{table}.{form}", columns, held)
    except ModuleNotFoundError as exc:
        told = f"--format {form} needs {exc.name}: pip install 'bot-arena[data]'; --format csv needs nothing"
        raise UsageFault(told) from exc
