"""An arena's database in an SQLite file: creating it, recognising it and connecting to it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool

from arena.store.data_folder import FILE_MODE, FOLDER_MODE
from arena.store.database import (
    MAX_READING_CONNECTIONS,
    Database,
    StoreError,
    StoreUnavailable,
    UnrecognizedDatabase,
    disposing,
)
from arena.store.schema import APPLICATION_ID

BUSY_TIMEOUT_MS = 10_000
"""The maximum time to wait for a lock on the SQLite file."""
READING_CACHE_KIB = 16 * 1024
"""The size of the page cache of each reading connection."""
SQLITE_HEADER_BYTES = 100
"""The length of the header of an SQLite file."""
_PRIMARY_CODE_MASK = 0xFF
"""The bits of an error code of SQLite that name the error; the others say where it came."""
_UNWRITABLE_CODES = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""The error codes of SQLite for a file that can't be written. It does not say why."""
_DATABASE_MAGIC = b"SQLite format 3\0"
_WRITE_VERSION_AT, _WAL_VERSION = 18, 2
"""The place of the write version in the header of an SQLite file, and its value if there is a write-ahead log."""
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_JOURNAL_HEADER_BYTES = 28
_FILE_SIZE_QUERY = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"


class SqliteDatabase(Database):
    """An arena's database in a SQLite file."""

    file: Path

    def __init__(self, file: Path) -> None:
        self.file = file

    def __str__(self) -> str:
        return str(self.file)

    def message(self, exc: BaseException | None) -> str:
        code = getattr(exc, "sqlite_errorcode", 0) & _PRIMARY_CODE_MASK
        if code in _UNWRITABLE_CODES and not os.access(self.file.absolute().parent, os.W_OK):
            return f"{self} can't be written: its folder is read-only"
        return super().message(exc)

    def _revision(self, *, read_only: bool) -> str | None:
        has_log = _has_wal(self.file)  # before the header, which says that there is a log before there is one
        try:
            with self.file.open("rb") as opened:
                header = opened.read(SQLITE_HEADER_BYTES)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise StoreError(f"{self} can't be read: {exc.strerror}") from exc
        if not header or _was_empty(self.file):
            return None
        if not header.startswith(_DATABASE_MAGIC):
            raise UnrecognizedDatabase(f"{self} is not a database: choose another file")
        if not is_ours(header):
            owner, tables = _inspect(self.file)
            if not owner and not tables:
                return None
            if owner != APPLICATION_ID:
                raise UnrecognizedDatabase(f"{self} is a database, but not Bot Arena's: choose another file")
        if has_log and header[_WRITE_VERSION_AT] != _WAL_VERSION:
            raise StoreError(
                f"{self} is a backup, and {self.file.name}-wal beside it is of the database that was there before: "
                f"move that away, and {self.file.name}-shm"
            )
        with (
            disposing(self.create_reading_engine() if read_only else self.connect()) as engine,
            self.translate_errors(),
            engine.connect() as connection,
        ):
            return str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one())

    def create(self) -> None:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        except OSError as exc:
            raise StoreError(f"the folder {self.file.parent} can't be made: {exc.strerror}") from exc
        with contextlib.suppress(OSError):  # SQLite reports what is wrong
            self.file.touch(mode=FILE_MODE)
        with (
            disposing(self._connect(wal=False)) as engine,
            self.translate_errors(),
            self.create_writing_engine(engine).begin() as connection,
        ):
            if connection.exec_driver_sql("PRAGMA application_id").scalar_one() == 0:
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
                self._make_tables(connection)

    def is_at_rest(self) -> bool:
        try:
            with self.file.open("rb") as opened:
                header = opened.read(SQLITE_HEADER_BYTES)
        except OSError:
            return False
        if not header.startswith(_DATABASE_MAGIC):
            return False
        return header[_WRITE_VERSION_AT] != _WAL_VERSION or not os.access(self.file.absolute().parent, os.W_OK)

    def merge_log(self) -> None:
        """Move the write-ahead log into the database file, which must be unused. Raise `StoreError` on failure."""
        with disposing(self.connect()) as engine, self.translate_errors(), engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert raw is not None
            raw.execute("PRAGMA journal_mode = DELETE")

    def create_reading_engine(self) -> Engine:
        """Return an engine that writes nothing, not even files beside the database. Threads share its connections."""

        def prepare(raw: Any) -> None:
            raw.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            raw.execute("PRAGMA query_only = ON")
            raw.execute(f"PRAGMA cache_size = -{READING_CACHE_KIB}")

        whole = read_only_uri(self.file)
        engine = create_engine(
            "sqlite://",
            creator=lambda: sqlite3.connect(whole, uri=True, check_same_thread=False, isolation_level=None),
            poolclass=QueuePool,
            pool_size=MAX_READING_CONNECTIONS,
            max_overflow=0,
        )
        return _with_listeners(engine, prepare)

    def connect(self, *, checkpoint: bool = True) -> Engine:
        """Return an engine whose connections wait for locks and sync each commit. Its execution option `begin` is the
        statement that begins transactions.

        In WAL mode (with a write-ahead log), readers never wait for the writer. Without `checkpoint`, a connection
        leaves checkpoints to the server that has the file open.
        """
        return self._connect(checkpoint=checkpoint)

    def _connect(self, *, wal: bool = True, checkpoint: bool = True) -> Engine:
        """Return an engine that can write. If `wal` is false, it does not switch the file to a write-ahead log, because
        the file may not be an arena's.
        """

        def prepare(raw: Any) -> None:
            raw.isolation_level = None
            raw.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            raw.execute("PRAGMA synchronous = FULL")
            raw.execute("PRAGMA foreign_keys = ON")
            if wal:
                raw.execute("PRAGMA journal_mode = WAL")
            elif raw.execute("PRAGMA application_id").fetchone()[0] == 0:
                raw.execute("PRAGMA journal_mode = DELETE")
            if not checkpoint:
                raw.execute("PRAGMA wal_autocheckpoint = 0")

        url = URL.create("sqlite", database=str(self.file))
        return _with_listeners(create_engine(url), prepare)

    def create_writing_engine(self, engine: Engine) -> Engine:
        return engine.execution_options(begin="BEGIN IMMEDIATE")

    def vacuum(self, engine: Engine) -> int:
        """Rewrite the file without free pages, and return the bytes saved. No other process may use the file."""
        with engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert raw is not None
            (before,) = raw.execute(_FILE_SIZE_QUERY).fetchone()
            raw.execute("VACUUM")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (after,) = raw.execute(_FILE_SIZE_QUERY).fetchone()
        return int(before - after)

    def make_replacement_check(self) -> Callable[[], None]:
        """Return a function that raises `StoreUnavailable`, in a transaction, if the file or its log was replaced."""
        inodes = {self.file: _inode(self.file)}

        def check() -> None:
            for path in (self.file, self.file.with_name(f"{self.file.name}-wal")):
                found = _inode(path)
                if inodes.setdefault(path, found) != found:
                    raise _file_changed_error(path, "replaced")

        return check


def is_ours(header: bytes) -> bool:
    """Return whether a file belongs to an arena, given its first `SQLITE_HEADER_BYTES`."""
    return header.startswith(_DATABASE_MAGIC) and int.from_bytes(header[68:72], "big") == APPLICATION_ID


def read_only_uri(file: Path) -> str:
    """Return a URI that opens a file without writing anything, not even beside it. In a read-only folder, a file
    without a write-ahead log is opened as immutable, because it is complete.
    """
    where = file.absolute().as_uri()
    return f"{where}?immutable=1" if not os.access(file.parent, os.W_OK) and not _has_wal(file) else f"{where}?mode=ro"


def _inode(path: Path) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        raise _file_changed_error(path, "removed") from None
    return status.st_dev, status.st_ino


def _file_changed_error(path: Path, what: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} was {what} while it was in use: move the one that was in use back, or stop the arena and start it anew"
    )


def _was_empty(file: Path) -> bool:
    """Return whether the file was empty before a transaction that was interrupted. SQLite will undo that transaction,
    so the file will be empty again.
    """
    try:
        with file.with_name(f"{file.name}-journal").open("rb") as opened:
            header = opened.read(_JOURNAL_HEADER_BYTES)
    except OSError:
        return False
    return header.startswith(_JOURNAL_MAGIC) and header[16:20] == bytes(4)


def _inspect(file: Path) -> tuple[int, int]:
    """Return a database's application id, and its number of tables and indexes; (-1, -1) if they cannot be read.
    Changes that are still in the write-ahead log are included.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            owner = connection.execute("PRAGMA application_id").fetchone()[0]
            return owner, connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    except sqlite3.Error:
        return -1, -1


def _has_wal(file: Path) -> bool:
    try:
        return file.with_name(f"{file.name}-wal").stat().st_size > 0
    except OSError:
        return False


def _with_listeners(engine: Engine, prepare: Callable[[Any], None]) -> Engine:
    """Add two listeners to an engine, and return it. One calls `prepare` with each new connection. The other begins
    each transaction with the statement in the execution option `begin`; the default is `BEGIN`.
    """

    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

    event.listen(engine, "connect", lambda raw, _: prepare(raw))
    event.listen(engine, "begin", begin)
    return engine
