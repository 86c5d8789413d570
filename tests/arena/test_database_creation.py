"""A database whose making was cut off by a kill is completed; one of somebody else is left alone in any state."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from arena.store.database import DatabaseNotFound, UnrecognizedDatabase
from arena.store.database_url import open_database_url
from arena.store.integrity_check import check_database
from arena.store.registry import add_bots
from arena.store.schema import APPLICATION_ID
from arena.store.store import Store

pytestmark = pytest.mark.usefixtures("uncopied_databases")

HOT = bytes.fromhex("d9d505f920a163d7")


def journal(file: Path, pages: int) -> Path:
    """A rollback journal of a transaction that was cut off, before which the file had so many pages."""
    path = file.with_name(f"{file.name}-journal")
    path.write_bytes((HOT + struct.pack(">5I", 0, 7, pages, 512, 4096)).ljust(512, b"\0"))
    return path


def check_sound(file: Path) -> None:
    store = Store.open(file)
    store.write(add_bots, {"ann": "a" * 64})
    assert list(store.iterate(check_database)) == []
    store.close()
    assert sorted(path.name for path in file.parent.iterdir()) == ["arena.db"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "arena.db"


def killed_at_the_commit(file: Path) -> None:
    open_database_url(file).create()
    journal(file, 0)


def killed_before_the_first_page(file: Path) -> None:
    killed_at_the_commit(file)
    file.write_bytes(bytes(4096) + file.read_bytes()[4096:])


def opened_after_that_by_an_older_version(file: Path) -> None:
    """SQLite took back what was begun, and an empty database was left."""
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


def killed_again_while_that_was_completed(file: Path) -> None:
    opened_after_that_by_an_older_version(file)
    copy = file.parent.with_name("copy")
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("CREATE TABLE bots (name)")
        connection.execute("INSERT INTO bots VALUES (zeroblob(100000))")
        assert file.with_name("arena.db-wal").stat().st_size > 0
        shutil.copytree(file.parent, copy)
    shutil.rmtree(file.parent)
    copy.rename(file.parent)


@pytest.mark.parametrize(
    "state",
    [
        killed_at_the_commit,
        killed_before_the_first_page,
        opened_after_that_by_an_older_version,
        killed_again_while_that_was_completed,
    ],
)
def test_a_database_whose_making_was_cut_off_is_completed(file: Path, state: Callable[[Path], None]) -> None:
    state(file)
    before = {path.name: path.read_bytes() for path in file.parent.iterdir() if not path.name.endswith("-shm")}
    with pytest.raises(DatabaseNotFound):
        Store.open(file, create=False)
    assert {path.name: path.read_bytes() for path in file.parent.iterdir() if path.name in before} == before
    check_sound(file)


def test_one_that_was_made_whole_but_for_its_last_move_into_the_file_is_ours(file: Path) -> None:
    open_database_url(file).create()
    copy = file.parent.with_name("copy")
    copy.mkdir()
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID + 1}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for path in file.parent.iterdir():
            shutil.copy(path, copy)
    assert int.from_bytes((copy / "arena.db").read_bytes()[68:72], "big") != APPLICATION_ID
    check_sound(copy / "arena.db")


@pytest.mark.parametrize("pages", [1, 7])
def test_a_database_of_somebody_else_in_the_middle_of_a_transaction_is_left_alone(file: Path, pages: int) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE bots (name)")
    beside = journal(file, pages)
    before = file.read_bytes(), beside.read_bytes()
    with pytest.raises(UnrecognizedDatabase):
        Store.open(file)
    assert (file.read_bytes(), beside.read_bytes()) == before


def test_a_text_beside_something_that_looks_like_a_journal_is_left_alone(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("not a database\n" * 20)
    file.with_name("arena.db-journal").write_text("a diary")
    with pytest.raises(UnrecognizedDatabase):
        Store.open(file)
    assert file.read_text() == "not a database\n" * 20
