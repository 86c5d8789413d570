"""Tests that are run on every kind of database: what they take for a file is on one of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from arena.store import database_url
from arena.store.database import Database
from arena.store.database_url import database_at
from arena.store.postgres_database import SCHEMA, PostgresDatabase
from arena.store.sqlite_database import SqliteDatabase
from postgres import give_back, new_database

EVERY_DATABASE = pytest.mark.usefixtures("database_kind")
"""The mark of a module whose tests are run on SQLite and on PostgreSQL."""
SQLITE_ALONE = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
"""The mark of a test in it that is of files."""
POSTGRESQL_ALONE = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
"""The mark of a test in it that is of a server."""
KINDS = ("sqlite", "postgresql")


class Renamed(PostgresDatabase):
    """A database on a server that a test calls by the path of a file, under which it is told of as well."""

    def __init__(self, path: Path) -> None:
        self.url = new_database()
        super().__init__(self.url)
        self._path = path

    def __str__(self) -> str:
        return str(self._path)


@pytest.fixture(params=KINDS)
def database_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The kind of database that this test is run on: files are of it."""
    known: dict[Path, Renamed] = {}

    def found(file: Path) -> Database:
        return known.get(file.absolute()) or known.setdefault(file.absolute(), Renamed(file))

    if request.param == "postgresql":
        monkeypatch.setattr(database_url, SqliteDatabase.__name__, found)
    yield request.param
    for one in known.values():
        give_back(one.url)


def asked(where: str | Path | Database, query: str) -> list[dict[str, Any]]:
    """What any other program is answered there."""
    found = _found(where)
    if isinstance(found, str):
        with psycopg.connect(found, row_factory=dict_row, options=f"-csearch_path={SCHEMA}") as connection:
            return connection.execute(query.encode()).fetchall()
    with closing(sqlite3.connect(found)) as file:
        file.row_factory = sqlite3.Row
        return [dict(row) for row in file.execute(query)]


def alter(where: str | Path | Database, *statements: str) -> None:
    """Have something done there that the arena knows nothing of."""
    found = _found(where)
    if isinstance(found, str):
        with psycopg.connect(found, options=f"-csearch_path={SCHEMA}") as connection:
            for statement in statements:
                connection.execute(statement.encode())
        return
    with closing(sqlite3.connect(found)) as file:
        for statement in statements:
            file.execute(statement)
        file.commit()


def _found(where: str | Path | Database) -> str | Path:
    """The file that a test means, or the URL."""
    if isinstance(where, str):
        return where
    database = where if isinstance(where, Database) else database_at(where)
    if isinstance(database, Renamed):
        return database.url
    assert database.file is not None
    return database.file
