"""The interface of an arena's database, for both SQLite and PostgreSQL, with error messages for the arena's users.
Nothing is ever written to a database that is not an arena's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InterfaceError, ProgrammingError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from arena.store import views
from arena.store.dialect import execute
from arena.store.schema import SCHEMA_REVISIONS, metadata
from protocol.errors import ArenaFault, Fault

MAX_READING_CONNECTIONS = 8
"""The maximum number of database connections that read at the same time."""
_VERSION_TABLE = """CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)"""
"""The statement that creates the table of the schema revision, exactly as Alembic does."""


class DatabaseNotFound(ArenaFault):
    """The database does not exist."""


class UnrecognizedDatabase(ArenaFault):
    """A file is not a database, or the database is not an arena's."""


class SchemaMismatch(ArenaFault):
    """A database has the schema revision of another version of bot-arena."""


class StoreError(ArenaFault):
    """The database could not carry out a request."""


class StoreUnavailable(StoreError):
    """The database failed for a reason unrelated to the request: a full disk, a lock, a damaged file, a lost server."""


class Database(ABC):
    """The database of an arena, in a file or on a server. `str` gives the name shown to users."""

    file: Path | None = None
    """The path of the SQLite file; None for a database on a server."""

    @abstractmethod
    def _revision(self, *, read_only: bool) -> str | None:
        """Return the schema revision, even one that this version does not know; None if there is no database."""

    @abstractmethod
    def create(self) -> None:
        """Create all tables where there is no database yet. If that fails, create none and raise `StoreError`."""

    @abstractmethod
    def create_reading_engine(self) -> Engine:
        """Return an engine that only reads. Threads can share its connections."""

    @abstractmethod
    def connect(self, *, checkpoint: bool = True) -> Engine:
        """Return an engine (of SQLAlchemy) whose commits are on disk when they return. Without `checkpoint`, it leaves
        checkpoints of the write-ahead log to the server that has the database open.
        """

    @abstractmethod
    def create_writing_engine(self, engine: Engine) -> Engine:
        """Return an engine for writing. It shares the connections of `engine` if this kind of database allows it. Its
        transactions run one at a time, so they never have to be retried.
        """

    @abstractmethod
    def vacuum(self, engine: Engine) -> int:
        """Rewrite the database without unused space, and return how many bytes smaller it is."""

    def make_replacement_check(self) -> Callable[[], None]:
        """Return a function that raises `StoreUnavailable` after this database was replaced by another one."""
        return lambda: None

    def hurry(self) -> None:
        """Shorten the time limits on answers, because the process is about to end. A SQLite file has no such limits."""
        return

    def to_fault(self, exc: DBAPIError) -> Fault:
        """Convert a database error to a fault with a one-line message."""
        unavailable = self.is_unavailable(exc)
        return (StoreUnavailable if unavailable else StoreError)(self.message(exc.orig))

    def message(self, exc: BaseException | None) -> str:
        """Return an error message of the database's driver as one line."""
        return f"{self}: {first_line(exc)}"

    def is_unavailable(self, exc: DBAPIError) -> bool:
        """Return whether an error comes from the database's state, so that the same request may succeed later."""
        return not isinstance(exc, DataError | IntegrityError | InterfaceError | ProgrammingError)

    def revision(self, *, read_only: bool = False) -> str | None:
        """Return the schema revision. Return None if there is no database, or if its creation was interrupted; `create`
        completes it then.

        Raise `UnrecognizedDatabase` if the database is not an arena's, `SchemaMismatch` if the schema is newer than
        this program, and `StoreError` for other failures.
        """
        revision = self._revision(read_only=read_only)
        if revision is not None and revision not in SCHEMA_REVISIONS:
            raise SchemaMismatch(f"{self} has schema {revision}, newer than this bot-arena knows: upgrade bot-arena")
        return revision

    def is_at_rest(self) -> bool:
        """Return whether opening the database for writing would change it, or fail: it is a file without a write-ahead
        log, such as a backup, or its folder can't be written.
        """
        return False

    def check_current(self, *, read_only: bool = False) -> None:
        """Raise an `ArenaFault` unless this is an arena's database with the schema revision of this version. The fault
        is a `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`.
        """
        revision = self.revision(read_only=read_only)
        if revision is None:
            raise self.not_found_error()
        if revision != SCHEMA_REVISIONS[-1]:
            raise SchemaMismatch(f"{self} has schema {revision}, older than this bot-arena's: run `arena db upgrade`")

    def _make_tables(self, connection: Connection) -> None:
        """Create empty tables and views, and store the revision as Alembic would. Alembic itself is slow to load."""
        metadata.create_all(connection, checkfirst=False)
        views.create_views(connection)
        connection.exec_driver_sql(_VERSION_TABLE)
        execute(connection, "INSERT INTO alembic_version VALUES (:revision)", {"revision": SCHEMA_REVISIONS[-1]})

    def not_found_error(self) -> DatabaseNotFound:
        """Return the error for a missing database."""
        return DatabaseNotFound(f"no arena data in {self}: start `arena serve` or `arena tournament` first")

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Convert database errors inside the block to a `StoreError` with a one-line message. Text that no database
        accepts becomes a `UsageFault`.
        """
        try:
            yield
        except DBAPIError as exc:
            raise self.to_fault(exc) from exc
        except UnicodeDecodeError as exc:  # SQLite's own error message is not valid text
            raise StoreUnavailable(f"{self}: the file is damaged: {exc}") from exc
        except PoolTimeout as exc:
            raise StoreUnavailable(f"{self}: all its connections are in use") from exc
        except SQLAlchemyError as exc:
            raise StoreError(f"{self}: {first_line(exc)}") from exc


@contextmanager
def disposing(engine: Engine) -> Iterator[Engine]:
    """Provide an engine, whose connections are closed at the end of the block."""
    try:
        yield engine
    finally:
        engine.dispose()


def first_line(exc: BaseException | None) -> str:
    """Return the first line of an error's message, or its type's name if it has none."""
    return next(filter(None, map(str.strip, str(exc).splitlines())), type(exc).__name__)
