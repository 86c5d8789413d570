"""`arena export`: writes matches, their seats and their plies as tables, in CSV or Parquet.

Rows are streamed, so memory use does not grow with the number of matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from arena.commands.matches import Selection, search_of
from arena.commands.output import CsvWriter, check_is_file, translate_write_errors
from arena.replay.ply_rows import iter_ply_rows as ply_rows
from arena.store.export_rows import (
    BOOLEAN_TYPE,
    INTEGER_TYPE,
    MATCH_COLUMNS,
    PLY_COLUMNS,
    REAL_TYPE,
    SEAT_COLUMNS,
    TEXT_TYPE,
    TIME_TYPE,
    Columns,
    ExportBatch,
    export_matches,
)
from arena.store.store import Reader
from machine.atomic_write import replacing_folder
from machine.terminal import say
from protocol.display import format_count, list_choices
from protocol.errors import BadRecord, UsageFault
from referee import record_reader

EXPORT_FORMATS = ("csv", "parquet")
"""The file formats of an export."""
ROW_NOUNS = {"matches": "match", "seats": "seat", "plies": "ply"}
"""The word for a row, such as `match`, by table of an export."""
ROW_GROUP_ROWS = 20_000
"""Number of rows in a row group of a Parquet file. The rows of one group are buffered in memory."""


def export(where: str, to: Path, form: str, selection: Selection, *, plies: bool) -> None:
    """Write the selected matches to a new folder, all or nothing, from one snapshot of the database.

    Raise `BadRecord` if plies are wanted and a record can't be read.
    """
    if form not in EXPORT_FORMATS:
        raise UsageFault(f"--format is {form!r}: it is {list_choices(EXPORT_FORMATS)}")
    check_is_file("--to", to)
    with closing(Reader.open(where)) as reader:
        search = search_of(reader, selection)
        with translate_write_errors(to), replacing_folder(to) as folder:
            counts = _write_tables(folder, form, reader.iterate(export_matches, search, records=plies), plies=plies)
    say(f"{to}: {', '.join(format_count(count, ROW_NOUNS[name], name) for name, count in counts.items())}, as {form}")


def _write_tables(folder: Path, form: str, batches: Iterator[ExportBatch], *, plies: bool) -> dict[str, int]:
    tables = {"matches": MATCH_COLUMNS, "seats": SEAT_COLUMNS} | ({"plies": PLY_COLUMNS} if plies else {})
    counts = dict.fromkeys(tables, 0)
    removed = 0
    with ExitStack() as held:
        files = {name: _open_table(folder, name, columns, form, held) for name, columns in tables.items()}

        def take(name: str, rows: Sequence[Sequence[Any]]) -> None:
            files[name].write(rows)
            counts[name] += len(rows)

        for batch in batches:
            take("matches", batch.matches)
            take("seats", batch.seats)
            if not plies:
                continue
            if len(batch.records) != len(batch.matches):
                missing = {row[1] for row in batch.matches} - {match for _, match, _ in batch.records}
                raise BadRecord(f"match {min(missing)} has no record: run `arena db check`")
            at, named = list(SEAT_COLUMNS).index("seat"), list(SEAT_COLUMNS).index("bot")
            bots = {(row[0], row[at]): row[named] for row in batch.seats}  # the bots' present names, in every table
            for number, match, data in batch.records:
                if data is None:
                    removed += 1
                    continue
                record = record_reader.read_record(data, f"the record of match {match}")
                told = (row._replace(bot=bots.get((number, row.seat))) for row in ply_rows(record))
                take("plies", [(number, match, *row) for row in told])
    if removed:
        gone = "has no plies, its record was" if removed == 1 else "have no plies, their records were"
        say(f"arena: {format_count(removed, 'match', 'matches')} {gone} removed", err=True)
    return counts


class _Parquet:
    def __init__(self, file: Path, columns: Columns, held: ExitStack) -> None:
        import pyarrow
        import pyarrow.parquet

        kinds = {
            TEXT_TYPE: pyarrow.string(),
            INTEGER_TYPE: pyarrow.int64(),
            REAL_TYPE: pyarrow.float64(),
            BOOLEAN_TYPE: pyarrow.bool_(),
            TIME_TYPE: pyarrow.timestamp("ms", tz="UTC"),
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
            if len(self._waiting) == ROW_GROUP_ROWS:
                self._flush()

    def _flush(self) -> None:
        if self._waiting:
            arrays = map(self._array, zip(*self._waiting, strict=True), self._columns, self._schema)
            self._writer.write_batch(self._arrow.record_batch(list(arrays), schema=self._schema))
            self._waiting = []

    def _array(self, values: Sequence[Any], kind: str, field: Any) -> Any:
        if kind == BOOLEAN_TYPE:
            values = [None if value is None else bool(value) for value in values]
        if kind == TIME_TYPE:
            return self._arrow.array(values, self._arrow.string()).cast(field.type)
        return self._arrow.array(values, field.type)


def _open_table(folder: Path, table: str, columns: Columns, form: str, stack: ExitStack) -> CsvWriter | _Parquet:
    """Open a new file for a table, in one of `EXPORT_FORMATS`. Closing `stack` completes and closes the file.

    Raise `UsageFault` if the package for this format is not installed.
    """
    file = folder / f"{table}.{form}"
    if form == "csv":
        return CsvWriter(stack.enter_context(file.open("w", encoding="utf-8", newline="")), columns)
    try:
        return _Parquet(file, columns, stack)
    except ModuleNotFoundError as exc:
        told = f"--format {form} needs {exc.name}: pip install 'bot-arena[data]'; --format csv needs nothing"
        raise UsageFault(told) from exc
