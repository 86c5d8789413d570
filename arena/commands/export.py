"""`arena export`: writes matches, their seats and their plies as tables, in CSV or Parquet.

Rows are streamed, so memory use does not grow with the number of matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from arena.commands.matches import Selection, selected
from arena.commands.output import Writer, check_is_file, writing
from arena.replay.ply_rows import rows as ply_rows
from arena.store.export_rows import (
    BOOLEAN,
    INTEGER,
    MATCHES,
    PLIES,
    REAL,
    SEATS,
    TEXT,
    TIME,
    Batch,
    Columns,
    export_matches,
)
from arena.store.store import Reader
from machine.atomic_write import folder_in_place_of
from machine.terminal import say
from protocol.display import among, counted
from protocol.errors import BadRecord, UsageFault
from referee import record_reader

FORMATS = ("csv", "parquet")
ONE_OF = {"matches": "match", "seats": "seat", "plies": "ply"}
GROUP = 20_000
"""Rows per Parquet row group, which are buffered in memory."""


def export(where: str, to: Path, form: str, chosen: Selection, *, plies: bool) -> None:
    """Write the selected matches to a new folder, all or nothing, from one snapshot of the database.

    Raises `BadRecord` if plies are wanted and a record can't be read.
    """
    if form not in FORMATS:
        raise UsageFault(f"--format is {form!r}: it is {among(FORMATS)}")
    check_is_file("--to", to)
    with closing(Reader.open(where)) as reader:
        search = selected(reader, chosen)
        with writing(to), folder_in_place_of(to) as folder:
            counts = _write(folder, form, reader.iterate(export_matches, search, records=plies), plies=plies)
    say(f"{to}: {', '.join(counted(count, ONE_OF[name], name) for name, count in counts.items())}, as {form}")


def _write(folder: Path, form: str, batches: Iterator[Batch], *, plies: bool) -> dict[str, int]:
    """Write the tables, and return the number of rows of each."""
    tables = {"matches": MATCHES, "seats": SEATS} | ({"plies": PLIES} if plies else {})
    counts = dict.fromkeys(tables, 0)
    removed = 0
    with ExitStack() as held:
        files = {name: _opened(folder, name, columns, form, held) for name, columns in tables.items()}

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
                raise BadRecord(f"match {min(missing)} has no record: `arena db check` tells what is wrong")
            at, named = list(SEATS).index("seat"), list(SEATS).index("bot")
            bots = {(row[0], row[at]): row[named] for row in batch.seats}  # the bots' present names, in every table
            for number, match, data in batch.records:
                if data is None:
                    removed += 1
                    continue
                record = record_reader.read(data, f"the record of match {match}")
                told = (row._replace(bot=bots.get((number, row.seat))) for row in ply_rows(record))
                take("plies", [(number, match, *row) for row in told])
    if removed:
        gone = "has no plies, its record was" if removed == 1 else "have no plies, their records were"
        say(f"arena: {counted(removed, 'match', 'matches')} {gone} removed", err=True)
    return counts


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


def _opened(folder: Path, table: str, columns: Columns, form: str, held: ExitStack) -> Writer | _Parquet:
    """Open a new file for a table, in one of `FORMATS`. It is complete when `held` is closed.

    Raises `UsageFault` if the package for this format is not installed.
    """
    file = folder / f"{table}.{form}"
    if form == "csv":
        return Writer(held.enter_context(file.open("w", encoding="utf-8", newline="")), columns)
    try:
        return _Parquet(file, columns, held)
    except ModuleNotFoundError as exc:
        told = f"--format {form} needs {exc.name}: pip install 'bot-arena[data]'; --format csv needs nothing"
        raise UsageFault(told) from exc
