"""The file itself: found, made, recognised as ours; and SQLite's errors in our own words.

Nothing is ever written to a file that is not ours.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.pool import QueuePool

from arena.store.data_folder import FILE, FOLDER
from arena.store.schema import APPLICATION_ID, REVISIONS, metadata
from arena.store.views import VIEWS
from protocol.errors import ArenaFault

BUSY_MS = 10_000
READERS, CACHE_KIB = 8, 16 * 1024
"""Connections that only read, at once, and what each keeps of the file."""
_MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_JOURNAL_HEADER_BYTES = 28
_VERSION_TABLE = """CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)"""
"""As Alembic makes it."""


class DatabaseNotFound(ArenaFault):
    """There is no database where one was expected."""


class UnrecognizedDatabase(ArenaFault):
    """A file that is no database, or not one of ours."""


class SchemaMismatch(ArenaFault):
    """A database of another version of bot-arena."""


class StoreError(ArenaFault):
    """SQLite could not do what was asked."""


class StoreUnavailable(StoreError):
    """Whatever had been asked, SQLite could not have done it now: a full disk, a lock, a damaged file."""


def database_path(where: str | Path) -> Path:
    """The file of a path or a `sqlite:///` URL. Raises `StoreError` for any other URL."""
    text = str(where)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return Path(text)
    if scheme != "sqlite" or not rest.startswith("/") or len(rest) == 1:
        raise StoreError(f"a database URL is sqlite:///FILE (for now the only kind), not {scheme}://…")
    return Path(rest[1:])


def check_current(file: Path, connecting: Callable[[Path], Engine]) -> None:
    """Raise `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError` unless a file is ours."""
    revision = revision_of(file, connecting)
    if revision is None:
        raise DatabaseNotFound(f"no arena data in {file}: start `arena serve` or `arena tournament` first")
    if revision != REVISIONS[-1]:
        raise SchemaMismatch(f"{file} has schema {revision}, older than this bot-arena's: run `arena db upgrade`")


def revision_of(file: Path, connecting: Callable[[Path], Engine] | None = None) -> str | None:
    """The schema revision of our database; None where there is no file yet, an empty one, or one whose making was cut
    off: `create` completes it.

    Raises `UnrecognizedDatabase` having only read the file, and `SchemaMismatch` for a newer one.
    """
    try:
        with file.open("rb") as opened:
            header = opened.read(HEADER_BYTES)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise StoreError(f"{file} can't be read: {exc.strerror}") from exc
    if not header or _was_empty(file):
        return None
    if not header.startswith(_MAGIC):
        raise UnrecognizedDatabase(f"{file} is not a database: choose another file with --db")
    if not is_ours(header):
        owner, tables = _contents(file)
        if not owner and not tables:
            return None
        if owner != APPLICATION_ID:
            raise UnrecognizedDatabase(f"{file} is a database, but not Bot Arena's: choose another file with --db")
    engine = (connecting or connect)(file)
    try:
        with failures(file), engine.connect() as connection:
            revision = str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one())
    finally:
        engine.dispose()
    if revision not in REVISIONS:
        raise SchemaMismatch(f"{file} has schema {revision}, newer than this bot-arena knows: upgrade bot-arena")
    return revision


def is_ours(header: bytes) -> bool:
    """Whether the first `HEADER_BYTES` of a file are those of an arena's database."""
    return header.startswith(_MAGIC) and int.from_bytes(header[68:72], "big") == APPLICATION_ID


def _was_empty(file: Path) -> bool:
    """Whether a transaction was cut off before which the file was empty: SQLite will take back all that is in it."""
    try:
        with file.with_name(f"{file.name}-journal").open("rb") as opened:
            header = opened.read(_JOURNAL_HEADER_BYTES)
    except OSError:
        return False
    return header.startswith(_JOURNAL_MAGIC) and header[16:20] == bytes(4)


def _contents(file: Path) -> tuple[int, int]:
    """A database's application id and how many tables it has, its write-ahead log included; (-1, -1) if unknown."""
    try:
        with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            owner = connection.execute("PRAGMA application_id").fetchone()[0]
            return owner, connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    except sqlite3.Error:
        return -1, -1


def connect(file: Path, *, log: bool = True, checkpoint: bool = True) -> Engine:
    """An engine whose connections wait for locks, sync every commit, and begin as their `begin` option says.

    With `log` the file is written ahead (WAL): readers never wait for the writer. Without it, one that is not ours yet
    is not: what is committed is in the file itself. Without `checkpoint` a connection
    leaves moving pages out of the log to the server that runs on the file.
    """

    def prepare(raw: Any) -> None:
        raw.isolation_level = None
        raw.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute("PRAGMA foreign_keys = ON")
        if log:
            raw.execute("PRAGMA journal_mode = WAL")
        elif raw.execute("PRAGMA application_id").fetchone()[0] == 0:
            raw.execute("PRAGMA journal_mode = DELETE")
        if not checkpoint:
            raw.execute("PRAGMA wal_autocheckpoint = 0")

    return _prepared(create_engine(URL.create("sqlite", database=str(file))), prepare)


def read_only_uri(file: Path) -> str:
    """The URI of a file for who changes nothing, not even beside it.

    A folder that can't be written has no log of its own making: what is in the file itself is then all there is.
    """
    where = file.absolute().as_uri()
    return f"{where}?immutable=1" if not os.access(file.parent, os.W_OK) and not _has_log(file) else f"{where}?mode=ro"


def reading(file: Path) -> Engine:
    """An engine whose connections change nothing, not even beside the file, and are shared by threads."""

    def prepare(raw: Any) -> None:
        raw.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        raw.execute("PRAGMA query_only = ON")
        raw.execute(f"PRAGMA cache_size = -{CACHE_KIB}")

    whole = read_only_uri(file)
    engine = create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(whole, uri=True, check_same_thread=False, isolation_level=None),
        poolclass=QueuePool,
        pool_size=READERS,
        max_overflow=0,
    )
    return _prepared(engine, prepare)


def _prepared(engine: Engine, prepare: Callable[[Any], None]) -> Engine:
    """The same engine; its connections are prepared, and begin as their `begin` option says."""

    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

    event.listen(engine, "connect", lambda raw, _: prepare(raw))
    event.listen(engine, "begin", begin)
    return engine


def _has_log(file: Path) -> bool:
    try:
        return file.with_name(f"{file.name}-wal").stat().st_size > 0
    except OSError:
        return False


def writing(engine: Engine) -> Engine:
    """The same engine for transactions that will write: they take the lock first, so they never have to start again."""
    return engine.execution_options(begin="BEGIN IMMEDIATE")


def create(file: Path) -> None:
    """Make the tables in a file that is absent, empty or unfinished, all at once: it is ours whole or not at all.

    Alembic, slow to load, is left out; what its migrations would have written down is written down.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER)
    except OSError as exc:
        raise StoreError(f"the folder {file.parent} can't be made: {exc.strerror}") from exc
    with contextlib.suppress(OSError):  # SQLite says what is wrong with it
        file.touch(mode=FILE)
    engine = connect(file, log=False)
    try:
        with failures(file), writing(engine).begin() as connection:
            if connection.exec_driver_sql("PRAGMA application_id").scalar_one() == 0:
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
                metadata.create_all(connection, checkfirst=False)
                for statement in VIEWS.values():
                    connection.exec_driver_sql(statement)
                connection.exec_driver_sql(_VERSION_TABLE)
                connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (REVISIONS[-1],))
    finally:
        engine.dispose()


@contextmanager
def failures(file: Path) -> Iterator[None]:
    """Turn the database's errors into `StoreError`, in one line."""
    try:
        yield
    except (DataError, IntegrityError, InterfaceError, ProgrammingError) as exc:
        raise StoreError(f"{file}: {exc.orig}") from exc
    except DBAPIError as exc:
        raise StoreUnavailable(f"{file}: {exc.orig}") from exc
    except UnicodeDecodeError as exc:  # what SQLite complains of is not even text
        raise StoreUnavailable(f"{file}: the file is damaged: {exc}") from exc
    except SQLAlchemyError as exc:
        raise StoreError(f"{file}: {str(exc).splitlines()[0]}") from exc
