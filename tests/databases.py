"""Databases for tests: tests that run on both kinds of database, and SQLite files that are copied instead of made.

A test of a module marked `EVERY_DATABASE` runs on SQLite and on PostgreSQL: what it calls a file is a database of that
kind. On PostgreSQL a run without CI set takes only tests listed in postgres_cover.txt: together with those that run on
PostgreSQL alone they have the server run every statement that all tests have it run.
"""

from __future__ import annotations

import functools
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from arena.store import database_url
from arena.store.data_folder import FILE_MODE, FOLDER_MODE
from arena.store.database import Database
from arena.store.database_url import open_database_url
from arena.store.postgres_database import SCHEMA_NAME, PostgresDatabase
from arena.store.sqlite_database import SqliteDatabase
from arena.store.store import Store
from arena.store.views import VIEWS_SCHEMA
from postgres import give_back, new_database

EVERY_DATABASE = pytest.mark.usefixtures("database_kind")
"""The mark of a module whose tests are run on SQLite and on PostgreSQL."""
SQLITE_ALONE = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
"""The mark of a test in it that is of files."""
POSTGRESQL_ALONE = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
"""The mark of a test in it that is of a server."""
KINDS = ("sqlite", "postgresql")
COVER_FILE = Path(__file__).with_name("postgres_cover.txt")
"""The tests that run on PostgreSQL also where CI is not set, one a line. postgres_cover.py writes it."""


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


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new database at `tmp_path / "arena.db"`. Files of tests put there what theirs begin with."""
    with closing(Store.open(tmp_path / "arena.db")) as opened:
        yield opened


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of a new arena's database on a server."""
    made = new_database()
    yield made
    give_back(made)


def read_cover() -> list[str]:
    """Return the names of the tests in `COVER_FILE`."""
    return [line for line in COVER_FILE.read_text().splitlines() if line and not line.startswith("#")]


def is_repetition(item: pytest.Item) -> bool:
    """Whether a test repeats on PostgreSQL what another proves on SQLite."""
    call = getattr(item, "callspec", None)
    return (
        call is not None
        and call.params.get("database_kind") == "postgresql"
        and not any(mark.args[0] == "database_kind" for mark in item.iter_markers("parametrize"))
    )


def mark_repetitions(items: Iterable[pytest.Item]) -> None:
    """Mark the tests with `ci` that repeat on PostgreSQL what others prove and that the cover does not list."""
    cover = frozenset(read_cover())
    for item in items:
        if item.nodeid not in cover and is_repetition(item):
            item.add_marker("ci")


_create = SqliteDatabase.create


@functools.cache
def _new_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arena.db"
        _create(SqliteDatabase(file))
        return file.read_bytes()


def _create_by_copying(database: SqliteDatabase) -> None:
    try:
        database.file.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        opened = os.open(database.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except OSError:  # what is there is completed, or it is said why not
        _create(database)
        return
    with open(opened, "wb") as file:
        file.write(_new_file())


_filled: dict[Callable[[Store], object], bytes] = {}
"""SQLite files by what filled them."""


def filled_store(file: Path, fill: Callable[[Store], object]) -> Store:
    """Open a new database with what `fill` puts there. For SQLite it does that once, and the file is copied then."""
    if not isinstance(open_database_url(file), SqliteDatabase):
        store = Store.open(file)
        fill(store)
        return store
    if fill not in _filled:
        with tempfile.TemporaryDirectory() as folder:
            first = Path(folder) / "arena.db"
            with closing(Store.open(first)) as store:
                fill(store)
            _filled[fill] = first.read_bytes()
    file.write_bytes(_filled[fill])
    return Store.open(file)


@pytest.fixture(scope="session", autouse=True)
def copied_databases() -> Iterator[None]:
    """Have new SQLite databases of this process copied from one: it takes a fifth of the time of making them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteDatabase, "create", _create_by_copying)
        yield


@pytest.fixture
def uncopied_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have SQLite databases made as users have them made."""
    monkeypatch.setattr(SqliteDatabase, "create", _create)


def asked(where: str | Path | Database, query: str) -> list[dict[str, Any]]:
    """What any other program is answered there."""
    found = _found(where)
    if isinstance(found, str):
        with psycopg.connect(
            found, row_factory=dict_row, options=f"-csearch_path={VIEWS_SCHEMA},{SCHEMA_NAME}"
        ) as connection:
            return connection.execute(query.encode()).fetchall()
    with closing(sqlite3.connect(found)) as file:
        file.row_factory = sqlite3.Row
        return [dict(row) for row in file.execute(query)]


def alter(where: str | Path | Database, *statements: str) -> None:
    """Have something done there that the arena knows nothing of."""
    found = _found(where)
    if isinstance(found, str):
        with psycopg.connect(found, options=f"-csearch_path={VIEWS_SCHEMA},{SCHEMA_NAME}") as connection:
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
    database = where if isinstance(where, Database) else open_database_url(where)
    if isinstance(database, Renamed):
        return database.url
    assert database.file is not None
    return database.file
