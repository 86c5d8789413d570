"""The store: an open database. Queries and changes are functions of a connection; `read` and `write` run them in a
transaction. One thread writes. Other threads and processes can read at the same time. A program that opens
a database has the games that it keeps.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, Self, TypeVar

from sqlalchemy import Connection, Engine

from arena.store.after_commit import LaterStatement, take_later_statements
from arena.store.database import Database, DatabaseNotFound
from arena.store.database_url import open_database_url
from arena.store.dialect import execute
from arena.store.games import load_games, read_games
from protocol.errors import Fault

T = TypeVar("T")
P = ParamSpec("P")

log = logging.getLogger("arena.store.store")


class Reader:
    """A database that is open only for reading. Its folder may be read-only."""

    def __init__(self, database: Database, engine: Engine) -> None:
        self.database = database
        self._engine = engine

    @classmethod
    def open(cls, where: str | Path | Database) -> Self:
        """Open the database in a file or at a URL, and load the games that it keeps. Raise `DatabaseNotFound`,
        `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError` if it is not usable.
        """
        database = where if isinstance(where, Database) else open_database_url(where)
        database.check_current(read_only=True)
        return cls(database, database.create_reading_engine())._with_games()

    def _with_games(self) -> Self:
        """Load the games that the database keeps. Return this store, or close it if it can't be read."""
        try:
            load_games(self.read(read_games))
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def hurry(self) -> None:
        """Shorten the time limits on the database's answers, because the process is about to end."""
        self.database.hurry()

    def read(self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `query` on a connection and return its result. Raise `StoreError` on failure, or any error of `query`."""
        with self.database.translate_errors(), self._engine.connect() as connection:
            return query(connection, *args, **kwargs)

    def iterate(
        self, query: Callable[Concatenate[Connection, P], Iterator[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Iterator[T]:
        """Yield the results of `query` one by one, all from the same snapshot. Raise errors as `read` does."""
        with self.database.translate_errors(), self._engine.connect() as connection:
            yield from query(connection, *args, **kwargs)


class Store(Reader):
    """A database that is open for reading and writing."""

    node = 0
    """The number of this node; 0 for the server of an arena without nodes."""
    notifies = True
    """False while the notifications of changes cannot be sent. The changes themselves are stored."""

    def __init__(self, database: Database, engine: Engine) -> None:
        super().__init__(database, engine)
        self._writer = database.create_writing_engine(engine)
        self._check = database.make_replacement_check()

    @classmethod
    def open(cls, where: str | Path | Database, *, create: bool = True, checkpoint: bool = True) -> Self:
        """Open the database in a file or at a URL, and load the games that it keeps. Create it if it is missing,
        unless `create` is false.

        Without `checkpoint`, writes leave checkpoints to a server that has the file open. Raise `DatabaseNotFound`,
        `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError` if the database is not usable.
        """
        database = where if isinstance(where, Database) else open_database_url(where)
        ensure_database(database, create=create)
        return cls(database, database.connect(checkpoint=checkpoint))._with_games()

    def close(self) -> None:
        self._writer.dispose()
        super().close()

    def write(self, change: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `change` in a transaction. Return its result. Raise `StoreError` on failure, or any error of `change`.

        After the commit, run the statements that `change` passed to `run_after_commit`. Their failures are only logged.
        """
        with self.database.translate_errors():
            with self._writer.begin() as connection:
                take_later_statements(connection)  # drop those of a failed transaction
                self._check()
                done = change(connection, *args, **kwargs)
                later = take_later_statements(connection)
            self._check()
        if later:
            self._run_later(later)
        return done

    def _run_later(self, later: Sequence[LaterStatement]) -> None:
        try:
            with self.database.translate_errors(), self._writer.connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT")
                for statement, words in later:
                    execute(connection, statement, words)
        except Fault as fault:
            text = "other nodes can't be notified, and read announcements at their next heartbeat: %s"
            log.log(logging.WARNING if self.notifies else logging.DEBUG, text, fault)
            self.notifies = False
        else:
            if not self.notifies:
                log.info("other nodes are notified again")
            self.notifies = True

    def vacuum(self) -> int:
        """Rewrite the database without unused space, and return how many bytes smaller it is. No other process may use
        the database. Raise `StoreError` on failure.
        """
        with self.database.translate_errors():
            return self.database.vacuum(self._engine)


def ensure_database(database: Database, *, create: bool = True) -> None:
    """Check that a database is usable. Create it if it is missing, unless `create` is false. Raise `DatabaseNotFound`,
    `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError` if it is not usable.
    """
    try:
        database.check_current()
    except DatabaseNotFound:
        if not create:
            raise
        database.create()


def open_to_read(where: str | Path | Database) -> Reader:
    """Open the database in a file or at a URL for a command that only reads. Neither the file nor its folder is another
    afterwards: a `Reader` would leave the files of a write-ahead log, and a `Store` add one to a backup.

    Raise `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError` if the database is not usable.
    """
    database = where if isinstance(where, Database) else open_database_url(where)
    return Reader.open(database) if database.is_at_rest() else Store.open(database, create=False)
