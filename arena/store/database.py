"""An arena's database, wherever it is: what is asked of it, and errors in our own words. Nothing is ever written to one
that is not ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from arena.store import views
from arena.store.dialect import execute
from arena.store.schema import REVISIONS, metadata
from protocol.errors import ArenaFault, Fault

READERS = 8
"""Connections that only read, at once."""
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
    """The database could not do what was asked."""


class StoreUnavailable(StoreError):
    """Whatever had been asked, the database could not have done it now: a full disk, a lock, a damaged file, a server
    that is away.
    """


class Database(ABC):
    """Where an arena's data is. As text it is named to users."""

    file: Path | None = None
    """The file that it is in, if it is in one."""

    @abstractmethod
    def _revision(self, *, read_only: bool) -> str | None:
        """As `revision` has it, of whatever version."""

    @abstractmethod
    def create(self) -> None:
        """Make all tables where nothing is, at once: it is ours whole or not at all. Raises `StoreError`."""

    @abstractmethod
    def reading(self) -> Engine:
        """An engine whose connections change nothing, and are shared by threads."""

    @abstractmethod
    def connect(self, *, checkpoint: bool = True) -> Engine:
        """An engine whose commits are on disk when they return. Without `checkpoint` it leaves to a server that has the
        database open what can be left.
        """

    @abstractmethod
    def writing(self, engine: Engine) -> Engine:
        """An engine for transactions that will write, one after the other, so they never have to start again: with the
        connections of this one, where these will do.
        """

    @abstractmethod
    def vacuum(self, engine: Engine) -> int:
        """Write it anew without the room that is free in it; by how many bytes it is smaller."""

    def watch(self) -> Callable[[], None]:
        """What raises `StoreUnavailable` once another database than now is there."""
        return lambda: None

    def hurry(self) -> None:
        """Wait less for answers from now on, as the process is about to end. A file answers at once."""
        return

    def fault(self, exc: DBAPIError) -> Fault:
        """An error of the database in our words, in one line."""
        unavailable = self.is_unavailable(exc)
        return (StoreUnavailable if unavailable else StoreError)(f"{self}: {first_line(exc.orig)}")

    def is_unavailable(self, exc: DBAPIError) -> bool:
        """Whether an error says nothing of what was asked."""
        return not isinstance(exc, DataError | IntegrityError | InterfaceError | ProgrammingError)

    def revision(self, *, read_only: bool = False) -> str | None:
        """The revision of its schema; None where there is nothing yet, or what was cut off as it was made: `create`
        completes it.

        Raises `UnrecognizedDatabase` having only read, `SchemaMismatch` for a newer one, and `StoreError`.
        """
        revision = self._revision(read_only=read_only)
        if revision is not None and revision not in REVISIONS:
            raise SchemaMismatch(f"{self} has schema {revision}, newer than this bot-arena knows: upgrade bot-arena")
        return revision

    def check_current(self, *, read_only: bool = False) -> None:
        """Raise `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError` unless it is ours, of this
        version's schema.
        """
        revision = self.revision(read_only=read_only)
        if revision is None:
            raise self.not_found()
        if revision != REVISIONS[-1]:
            raise SchemaMismatch(f"{self} has schema {revision}, older than this bot-arena's: run `arena db upgrade`")

    def _make_tables(self, connection: Connection) -> None:
        """Make all that an arena has, with nothing in it. Alembic, slow to load, is left out; what its migrations would
        have written down is written down.
        """
        metadata.create_all(connection, checkfirst=False)
        views.create(connection)
        connection.exec_driver_sql(_VERSION_TABLE)
        execute(connection, "INSERT INTO alembic_version VALUES (:revision)", {"revision": REVISIONS[-1]})

    def not_found(self) -> DatabaseNotFound:
        """What is said where there is none."""
        return DatabaseNotFound(f"no arena data in {self}: start `arena serve` or `arena tournament` first")

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Turn its errors into `StoreError`, in one line; where what was asked can be in none, into `UsageFault`."""
        try:
            yield
        except DBAPIError as exc:
            raise self.fault(exc) from exc
        except UnicodeDecodeError as exc:  # what SQLite complains of is not even text
            raise StoreUnavailable(f"{self}: the file is damaged: {exc}") from exc
        except PoolTimeout as exc:
            raise StoreUnavailable(f"{self}: all its connections are in use") from exc
        except SQLAlchemyError as exc:
            raise StoreError(f"{self}: {first_line(exc)}") from exc


def first_line(exc: BaseException | None) -> str:
    """What an error says, in one line; of what kind it is where it says nothing."""
    return next(filter(None, map(str.strip, str(exc).splitlines())), type(exc).__name__)
