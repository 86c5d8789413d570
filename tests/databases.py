"""Tests that are run on every kind of database: what they take for a file is on one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.store import database_url
from arena.store.database import Database
from arena.store.postgres_database import PostgresDatabase
from arena.store.sqlite_database import SqliteDatabase
from postgres import new_database

EVERY_DATABASE = pytest.mark.usefixtures("database_kind")
"""The mark of a module whose tests are run on SQLite and on PostgreSQL."""
SQLITE_ALONE = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
"""The mark of a test in it that is of files."""
KINDS = ("sqlite", "postgresql")


class Renamed(PostgresDatabase):
    """A database on a server that a test calls by the path of a file, under which it is told of as well."""

    def __init__(self, path: Path) -> None:
        super().__init__(new_database())
        self._path = path

    def __str__(self) -> str:
        return str(self._path)


def put_on(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have files be databases of this kind."""
    if kind == "sqlite":
        return
    known: dict[Path, Database] = {}

    def found(file: Path) -> Database:
        return known.get(file.absolute()) or known.setdefault(file.absolute(), Renamed(file))

    monkeypatch.setattr(database_url, SqliteDatabase.__name__, found)


@pytest.fixture(params=KINDS)
def database_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The kind of database that this test is run on."""
    put_on(request.param, monkeypatch)
    return request.param
