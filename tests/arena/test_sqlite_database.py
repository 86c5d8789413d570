"""A database in a file of its own: made, recognised, upgraded, and gone; files that are not ours are left alone."""

from __future__ import annotations

import functools
import os
import shutil
import sqlite3
import urllib.request
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from arena.processes.server_process import ServerProcess, start_module
from arena.ratings import rating_system
from arena.ratings.rating_system import RatingStanding
from arena.store.backup import back_up
from arena.store.database import DatabaseNotFound, StoreError, StoreUnavailable, UnrecognizedDatabase
from arena.store.database_url import open_database_url
from arena.store.finish import finish_matches
from arena.store.registry import add_bots
from arena.store.result_queries import iter_results
from arena.store.schema import APPLICATION_ID, SCHEMA_REVISIONS
from arena.store.store import Store
from arena.store.upgrade import upgrade_database
from databases import alter
from later_schema import TO_FIRST_SCHEMA
from referee.result import Ratings
from seasons import finish, result, season
from stored_matches import storable
from timeouts import WITHIN


def test_a_new_file_is_marked_as_ours_and_syncs_every_commit(store: Store) -> None:
    store.write(add_bots, {"ann": "a" * 64})
    connection = sqlite3.connect(store.database.file)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    with open_database_url(store.database.file).connect().connect() as ours:
        assert ours.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert ours.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def test_a_file_of_the_first_schema_is_upgraded_to_what_a_new_file_has(tmp_path: Path) -> None:
    new, old = tmp_path / "new.db", tmp_path / "old.db"
    for file in (new, old):
        open_database_url(file).create()
    alter(old, *TO_FIRST_SCHEMA)
    assert upgrade_database(open_database_url(old)) == (SCHEMA_REVISIONS[0], SCHEMA_REVISIONS[-1])
    assert tables(old) == tables(new)


def tables(file: Path) -> dict[str, object]:
    """Return the columns and references of every table, the indexes and the views."""
    connection = sqlite3.connect(file)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found: dict[str, object] = {
        name: (
            connection.execute(f"PRAGMA table_info({name})").fetchall(),
            sorted(row[2:] for row in connection.execute(f"PRAGMA foreign_key_list({name})")),
        )
        for name in names
    }
    found |= connection.execute("SELECT name, sql FROM sqlite_master WHERE type IN ('index', 'view')")
    connection.close()
    return found


def test_a_server_and_its_pages_start_without_loading_what_only_some_requests_need(tmp_path: Path) -> None:
    start = functools.partial(start_module, env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})
    server = ServerProcess("serve", "--web-port", "0", "--data", str(tmp_path / "data"), start_program=start)
    server.start()
    page = server.wait_for_line("the page is at", WITHIN).split()[-1]
    urllib.request.urlopen(page, timeout=WITHIN).close()  # the server says where before its pages' process has started
    server.stop(timeout_s=WITHIN)
    loaded = {line.rpartition("|")[2].strip() for line in server.log if line.startswith("import time:")}
    assert loaded >= {"sqlalchemy", "arena.commands.serve", "uvicorn", "arena.web.pages.help"}
    dear = {"aiomqtt", "alembic", "markdown_it", "mpmath", "networkx", "psycopg", "pygments"}
    assert not loaded & {*dear, "sqlalchemy.dialects.postgresql"}


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database\n" * 20)
    with pytest.raises(UnrecognizedDatabase, match=r"notes\.txt is not a database"):
        Store.open(file)
    assert file.read_text() == "not a database\n" * 20
    assert list(tmp_path.iterdir()) == [file]


def test_a_database_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "theirs.db"
    theirs = sqlite3.connect(file)
    theirs.execute("CREATE TABLE bots (name)")
    theirs.commit()
    theirs.close()
    before = file.read_bytes()
    with pytest.raises(UnrecognizedDatabase, match="a database, but not Bot Arena's"):
        Store.open(file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("where", ["mysql://user:secret@host/db", "sqlite://", "sqlite+pysqlite:///x.db"])
def test_a_url_of_another_kind_is_refused_without_telling_its_password(where: str) -> None:
    with pytest.raises(StoreError, match="a database URL is sqlite:///FILE") as caught:
        Store.open(where)
    assert "secret" not in str(caught.value)


def test_a_url_names_a_relative_or_an_absolute_file(tmp_path: Path) -> None:
    assert open_database_url("sqlite:///arena-data/arena.db").file == Path("arena-data/arena.db")
    assert open_database_url(f"sqlite:///{tmp_path}/arena.db").file == tmp_path / "arena.db"
    assert open_database_url("arena.db").file == Path("arena.db")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Not a directory"):
        Store.open(tmp_path / "file" / "arena.db")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="Is a directory"):
        Store.open(tmp_path / "folder")


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    file = tmp_path / "arena.db"
    file.touch()
    with pytest.raises(DatabaseNotFound):
        Store.open(file, create=False)
    Store.open(file).close()
    assert open_database_url(file).revision() == SCHEMA_REVISIONS[-1]


def test_a_backup_is_not_mixed_with_the_log_of_the_database_that_it_replaces(store: Store, tmp_path: Path) -> None:
    """As a crash has left that, before the backup was put into its place."""
    finish(store, result("m1"))
    file, log = tmp_path / "restored.db", tmp_path / "restored.db-wal"
    back_up(store.database, file)
    finish(store, result("m2"))
    shutil.copy(f"{store.database.file}-wal", log)
    for read_only in (True, False):
        with pytest.raises(StoreError, match="db-wal beside it is of the database that was there before"):
            open_database_url(file).revision(read_only=read_only)
    log.unlink()
    assert open_database_url(file).revision() == SCHEMA_REVISIONS[-1]


def test_a_damaged_file_of_ours_is_one_line(store: Store) -> None:
    season(store)
    store.close()
    size = store.database.file.stat().st_size
    with store.database.file.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(StoreError, match=r"arena\.db: .*(malformed|not a database|disk image)"):
        Store.open(store.database)


@pytest.mark.parametrize("name", ["arena.db", "arena.db-wal"])
def test_a_database_that_was_removed_while_it_is_open_takes_nothing_until_it_is_back(store: Store, name: str) -> None:
    finish(store, result("m1"))
    file = store.database.file.with_name(name)
    file.rename(file.with_name("elsewhere"))
    with pytest.raises(
        StoreUnavailable, match=rf"{name} was removed while it was in use: move the one that was in use"
    ):
        finish(store, result("m2"))
    file.with_name("elsewhere").rename(file)
    finish(store, result("m2"))
    assert [one.match for one in list(store.iterate(iter_results))] == ["m2", "m1"]


def test_a_database_that_was_replaced_while_it_is_open_takes_nothing(store: Store) -> None:
    finish(store, result("m1"))
    backup = store.database.file.with_name("backup")
    shutil.copy(store.database.file, backup)
    backup.replace(store.database.file)
    with pytest.raises(StoreUnavailable, match=r"arena\.db was replaced while it was in use: .* start it anew"):
        finish(store, result("m2"))


def test_what_was_written_as_the_database_was_removed_does_not_count(store: Store) -> None:
    store.write(add_bots, {"ann": "a" * 64})
    elsewhere = store.database.file.with_name("elsewhere")

    def close(_: Ratings | None) -> bytes:
        store.database.file.rename(elsewhere)
        return b""

    with pytest.raises(StoreUnavailable, match="was removed"):
        store.write(finish_matches, [storable(result("m1"), close)])
    elsewhere.rename(store.database.file)
    (stored,) = store.write(finish_matches, [storable(result("m1"), b"")])
    assert stored.ratings == rating_system.rate("nim/classic", [RatingStanding()] * 2, ["1", "1"], [1, 2])
    assert len(list(store.iterate(iter_results))) == 1


def test_an_error_without_a_word_is_told_by_its_kind(store: Store) -> None:
    fault = store.database.to_fault(OperationalError("", {}, sqlite3.OperationalError()))
    assert (type(fault), str(fault)) == (StoreUnavailable, f"{store.database}: OperationalError")
