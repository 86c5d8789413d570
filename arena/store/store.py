"""The store: queries and changes are functions of a connection, and `read` and `write` run them in a transaction.

One thread writes. Reading is possible from any thread and from other processes beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Concatenate, ParamSpec, Self, TypeVar

from sqlalchemy import Connection, Engine

from arena.store.database import Database, DatabaseNotFound
from arena.store.database_url import database_at

T = TypeVar("T")
P = ParamSpec("P")


class Reader:
    """An open database, read only; its folder may be read-only too."""

    def __init__(self, database: Database, engine: Engine) -> None:
        self.database = database
        self._engine = engine

    @classmethod
    def open(cls, where: str | Path | Database) -> Self:
        """The database in a file or at a URL.

        Raises `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`.
        """
        database = where if isinstance(where, Database) else database_at(where)
        database.check_current(read_only=True)
        return cls(database, database.reading())

    def close(self) -> None:
        """Give it up."""
        self._engine.dispose()

    def hurry(self) -> None:
        """Wait less for the database from now on: the process is about to end."""
        self.database.hurry()

    def read(self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What `query` finds, given a connection and these arguments. Raises `StoreError`, and what it raises."""
        with self.database.failures(), self._engine.connect() as connection:
            return query(connection, *args, **kwargs)

    def iterate(
        self, query: Callable[Concatenate[Connection, P], Iterator[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Iterator[T]:
        """The same, one by one as it is found, all as it was at one moment."""
        with self.database.failures(), self._engine.connect() as connection:
            yield from query(connection, *args, **kwargs)


class Store(Reader):
    """An open database that is written as well."""

    node = 0
    """The number of the node that writes; 0: there is only one."""

    def __init__(self, database: Database, engine: Engine) -> None:
        super().__init__(database, engine)
        self._writer = database.writing(engine)
        self._check = database.watch()

    @classmethod
    def open(cls, where: str | Path | Database, *, create: bool = True, checkpoint: bool = True) -> Self:
        """The database in a file or at a URL; made if it is not there, unless `create` is off.

        Without `checkpoint` its writes stay out of the way of a server that has it open. Raises `DatabaseNotFound`,
        `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`.
        """
        database = where if isinstance(where, Database) else database_at(where)
        make_sure_of(database, create=create)
        return cls(database, database.connect(checkpoint=checkpoint))

    def close(self) -> None:
        self._writer.dispose()
        super().close()

    def write(self, change: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Have `change` done whole or not at all. Raises `StoreError`, and what it raises."""
        with self.database.failures():
            with self._writer.begin() as connection:
                self._check()
                done = change(connection, *args, **kwargs)
            self._check()
        return done

    def vacuum(self) -> int:
        """Write it anew without the room that is free in it; by how many bytes it is smaller. Nobody else may use it
        meanwhile. Raises `StoreError`.
        """
        with self.database.failures():
            return self.database.vacuum(self._engine)


def make_sure_of(database: Database, *, create: bool = True) -> None:
    """Make the database if it is not there, unless `create` is off.

    Raises `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`.
    """
    try:
        database.check_current()
    except DatabaseNotFound:
        if not create:
            raise
        database.create()
