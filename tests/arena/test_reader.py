"""The reader of a store: beside a server, over a folder that can't be written, and never writing itself."""

from __future__ import annotations

import os
import shutil
import sqlite3
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.store.backup import back_up
from arena.store.database import (
    MAX_READING_CONNECTIONS,
    DatabaseNotFound,
    StoreError,
    StoreUnavailable,
    UnrecognizedDatabase,
)
from arena.store.leaderboards import leaderboard_page
from arena.store.match_search import Search, search_matches
from arena.store.registry import all_bots
from arena.store.result_queries import iter_results
from arena.store.store import Reader, Store, open_to_read
from seasons import finish, result, season

NOBODY = 65_534


def as_nobody(check: Callable[[], None]) -> None:
    """Call it in a process that may not write where it is not allowed to, even if this one is root's."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            check()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_what_is_stored_meanwhile_is_seen(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store, closing(Reader.open(store.database)) as reader:
        assert reader.read(search_matches, Search()).total == 0
        finish(store, result("m1"))
        assert [found.match for found in reader.read(search_matches, Search()).rows] == ["m1"]


def test_more_queries_at_once_than_it_has_connections_find_it_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        season(store, 2)
    with closing(Reader.open(tmp_path / "arena.db")) as reader:
        monkeypatch.setattr(reader._engine.pool, "_timeout", 0.0)
        under_way = [reader.iterate(iter_results) for _ in range(MAX_READING_CONNECTIONS)]
        assert {next(results).match for results in under_way} == {"m1"}
        with pytest.raises(StoreUnavailable, match=r"arena\.db: all its connections are in use"):
            reader.read(all_bots)
        under_way.pop().close()
        assert len(reader.read(all_bots)) == 2


def test_a_reader_leaves_a_store_that_is_closed_as_it_was(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        season(store)
    before = store.database.file.read_bytes()
    with closing(Reader.open(store.database)) as reader:
        assert reader.read(search_matches, Search()).total == 30
        with pytest.raises(StoreError, match="readonly"):
            reader.read(lambda connection: connection.exec_driver_sql("DELETE FROM matches"))
    assert store.database.file.read_bytes() == before


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path("/tmp") / f"reader-{os.getpid()}"
    made.mkdir(mode=0o755)
    try:
        yield made
    finally:
        made.chmod(0o755)
        shutil.rmtree(made)


def test_a_folder_that_cant_be_written_is_read(folder: Path) -> None:
    with closing(Store.open(folder / "arena.db")) as store:
        season(store)
    store.database.file.chmod(0o444)
    folder.chmod(0o555)

    def check() -> None:
        with closing(Reader.open(store.database)) as reader:
            assert reader.read(search_matches, Search()).total == 30
            assert len(reader.read(leaderboard_page, "nim/classic").rows) == 4
        with closing(open_to_read(store.database)) as reader:
            assert reader.read(search_matches, Search()).total == 30

    as_nobody(check)
    assert [found.name for found in folder.iterdir()] == ["arena.db"]


def test_what_is_in_a_folder_that_cant_be_written_is_copied_elsewhere(folder: Path) -> None:
    with closing(Store.open(folder / "arena.db")) as store:
        season(store)
    copies = folder / "copies"
    copies.mkdir()
    copies.chmod(0o777)
    store.database.file.chmod(0o444)
    folder.chmod(0o555)

    def check() -> None:
        assert back_up(store.database, copies / "copy.db").matches == 30

    as_nobody(check)
    with closing(Store.open(copies / "copy.db")) as copy:
        assert len(list(copy.iterate(iter_results))) == 30


def test_what_a_killed_server_left_is_read(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        finish(store, result("m1"))
        left = tmp_path / "left"
        left.mkdir()
        for name in ("arena.db", "arena.db-wal"):
            shutil.copy(tmp_path / name, left / name)
    with closing(Reader.open(left / "arena.db")) as reader:
        assert reader.read(search_matches, Search()).total == 1


def test_what_is_no_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(DatabaseNotFound, match="no arena data in "):
        Reader.open(tmp_path / "arena.db")
    assert not list(tmp_path.iterdir())
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE theirs (name)")
    with pytest.raises(UnrecognizedDatabase, match="but not Bot Arena's"):
        Reader.open(tmp_path / "other.db")
