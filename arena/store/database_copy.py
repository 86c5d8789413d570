"""Copying a whole arena from one database to another, of the same kind or not, and checking the copied rows."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import Boolean, Connection, Integer, Table

from arena.store.archives import make_paths_absolute
from arena.store.data_folder import FILE_MODE
from arena.store.database import Database, StoreError, disposing
from arena.store.dialect import execute, insert_into, is_postgresql, quote_names, replace_nul
from arena.store.postgres_database import PostgresDatabase
from arena.store.schema import metadata
from arena.store.sqlite_database import SqliteDatabase
from machine.atomic_write import file_lock, flush_to_disk, replacing_file
from protocol.errors import ArenaFault, UsageFault

COPY_BATCH_ROWS = 500
"""The number of rows that are copied at a time."""
Row = dict[str, Any]
_TRUTHS = {0: False, 1: True}
"""The truth values that SQLite has as numbers."""
_encode = msgspec.msgpack.Encoder().encode


def copy_database(source: Database, target: Database) -> dict[str, int]:
    """Copy a consistent snapshot of a database to a place where there is no database yet. Copy all of it or nothing.
    Return the number of rows by table.

    Raise `UsageFault` if there is a database at the target, and the errors of `Database.check_current` and
    `Database.create`.
    """
    source.check_current(read_only=True)
    if target.revision() is not None:
        raise UsageFault(f"there is an arena in {target} already: name a place where there is none")
    with (
        disposing(source.create_reading_engine()) as reading,
        source.translate_errors(),
        reading.connect() as original,
        _provide_target(target) as made,
        disposing(made.connect()) as engine,
        disposing(made.create_writing_engine(engine)) as writer,
        made.translate_errors(),
        writer.begin() as copy,
    ):
        if isinstance(made, PostgresDatabase):
            made.create_in_transaction(copy)
        counts = {}
        for table in metadata.sorted_tables:
            with _name_table_in_faults(table), made.translate_errors():
                counts[table.name] = _copy_table(_rows(source, original, table), copy, made, table)
        _advance_sequences(copy)
        if source.file is not None:
            make_paths_absolute(copy, source.file.parent)
    return counts


@contextlib.contextmanager
def _provide_target(target: Database) -> Iterator[Database]:
    """Provide the database to copy to. A file gets its name at the end; on a server, the copy is one transaction."""
    if target.file is None:
        yield target
        return
    try:
        with file_lock(target.file), replacing_file(target.file) as part:
            for ending in ("", "-wal", "-shm", "-journal"):  # left by an interrupted copy to this path
                part.with_name(part.name + ending).unlink(missing_ok=True)
            part.touch(mode=FILE_MODE)
            made = SqliteDatabase(part)
            made.create()
            yield made
            made.merge_log()
            flush_to_disk(part)
        flush_to_disk(target.file.absolute().parent)
    except BlockingIOError as exc:
        raise UsageFault(f"{target} is being written by another process: choose another name") from exc
    except OSError as exc:
        raise ArenaFault(f"{target} can't be written: {exc.strerror}") from exc


@contextlib.contextmanager
def _name_table_in_faults(table: Table) -> Iterator[None]:
    try:
        yield
    except StoreError as fault:
        raise type(fault)(f"table {table.name}: {fault}") from fault


def _copy_table(rows: Iterator[list[Row]], to: Connection, target: Database, table: Table) -> int:
    """Copy the rows of a table and return their number. Compare the digests of the sent and the stored rows."""
    sent = hashlib.sha256()
    count = 0
    for some in rows:
        if is_postgresql(to):
            some = [_without_nul(row) for row in some]  # files written by older versions may contain NUL
        execute(to, insert_into(table.name, table.columns.keys()), some)
        count += len(some)
        for row in some:
            sent.update(_encode(list(row.values())))
    arrived = hashlib.sha256()
    for some in _rows(target, to, table):
        for row in some:
            arrived.update(_encode(list(row.values())))
    if sent.digest() != arrived.digest():
        raise StoreError("it did not arrive as it was sent")
    return count


def _rows(database: Database, connection: Connection, table: Table) -> Iterator[list[Row]]:
    columns = quote_names(table.columns.keys())  # a migrated database may have them in another order
    key = ", ".join(column.name for column in table.primary_key)
    truths = [column.name for column in table.columns if isinstance(column.type, Boolean)]
    with database.translate_errors():
        found = execute(connection, f"SELECT {columns} FROM {table.name} ORDER BY {key}", stream=True)
        for rows in found.partitions(COPY_BATCH_ROWS):
            batch = [dict(row._mapping) for row in rows]
            for row in batch:
                for name in truths:
                    row[name] = _TRUTHS.get(row[name], row[name])
            yield batch


def _without_nul(row: Row) -> Row:
    return {name: replace_nul(value) if isinstance(value, str) else value for name, value in row.items()}


def _advance_sequences(connection: Connection) -> None:
    if not is_postgresql(connection):
        return
    for table in metadata.sorted_tables:
        (key, *more) = table.primary_key
        if not more and isinstance(key.type, Integer) and table.autoincrement_column is not None:
            last = execute(connection, f"SELECT max({key.name}) FROM {table.name}").scalar()
            if last is not None:
                words = {"table": table.name, "column": key.name, "last": last}
                execute(connection, "SELECT setval(pg_get_serial_sequence(:table, :column), :last)", words)
