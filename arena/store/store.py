"""The store: queries and changes are functions of a connection, and `read` and `write` run them in a transaction.

One thread writes. Reading is possible from any thread and from other processes beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Concatenate, ParamSpec, Self, TypeVar

from sqlalchemy import Connection, Engine

from arena.store import database
from arena.store.database import DatabaseNotFound, StoreUnavailable

T = TypeVar("T")
P = ParamSpec("P")


def _inode(path: Path) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        raise _gone(path, "removed") from None
    return status.st_dev, status.st_ino


def _gone(path: Path, what: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} was {what} while it was in use: move the one that was in use back, or stop the arena and start it anew"
    )


class Reader:
    """An open database, read only; its folder may be read-only too."""

    def __init__(self, file: Path, engine: Engine) -> None:
        self.file = file
        self._engine = engine

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """The database in a file or at a `sqlite:///` URL.

        Raises `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`.
        """
        file = database.database_path(where)
        database.check_current(file, database.reading)
        return cls(file, database.reading(file))

    def close(self) -> None:
        """Give the file up."""
        self._engine.dispose()

    def read(self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What `query` finds, given a connection and these arguments. Raises `StoreError`, and what it raises."""
        with database.failures(self.file), self._engine.connect() as connection:
            return query(connection, *args, **kwargs)

    def iterate(
        self, query: Callable[Concatenate[Connection, P], Iterator[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Iterator[T]:
        """The same, one by one as it is found, all as it was at one moment."""
        with database.failures(self.file), self._engine.connect() as connection:
            yield from query(connection, *args, **kwargs)


class Store(Reader):
    """An open database that is written as well."""

    def __init__(self, file: Path, engine: Engine) -> None:
        super().__init__(file, engine)
        self._writer = database.writing(engine)
        self._inodes = {file: _inode(file)}
        """Of the database as it was opened, and of its write-ahead log as it was first written."""

    @classmethod
    def open(cls, where: str | Path, *, create: bool = True, checkpoint: bool = True) -> Self:
        """The database in a file or at a `sqlite:///` URL; made if it is not there, unless `create` is off.

        Without `checkpoint` its writes stay out of the way of a server on the same file. Raises `DatabaseNotFound`,
        `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`.
        """
        file = database.database_path(where)
        try:
            database.check_current(file, database.connect)
        except DatabaseNotFound:
            if not create:
                raise
            database.create(file)
        return cls(file, database.connect(file, checkpoint=checkpoint))

    def write(self, change: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Have `change` done whole or not at all. Raises `StoreError`, and what it raises."""
        with database.failures(self.file):
            with self._writer.begin() as connection:
                self._check_files()
                done = change(connection, *args, **kwargs)
            self._check_files()
        return done

    def vacuum(self) -> int:
        """Write the file anew without the room that is free in it; by how many bytes it is smaller. Nobody else may use
        it meanwhile. Raises `StoreError`.
        """
        with database.failures(self.file), self._engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert raw is not None
            size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            (before,) = raw.execute(size).fetchone()
            raw.execute("VACUUM")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (after,) = raw.execute(size).fetchone()
        return int(before - after)

    def _check_files(self) -> None:
        """Raise `StoreUnavailable` if a file is another than before, or none. In a transaction both are there."""
        for path in (self.file, self.file.with_name(f"{self.file.name}-wal")):
            found = _inode(path)
            if self._inodes.setdefault(path, found) != found:
                raise _gone(path, "replaced")
