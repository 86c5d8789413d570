"""What only a PostgreSQL server does: it is away, has others' tables, numbers rows; an arena moves there and back."""

from __future__ import annotations

import re
import shlex
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace
from sqlalchemy import Table as DatabaseTable
from sqlalchemy import event

from arena.commands.db import check_match
from arena.store import database_copy, postgres_database
from arena.store.database import StoreError, StoreUnavailable, UnrecognizedDatabase
from arena.store.database_copy import copy_database
from arena.store.database_url import open_database_url
from arena.store.finish import finish_matches
from arena.store.integrity_check import check_database
from arena.store.leaderboards import bots_page
from arena.store.match_log import log_page
from arena.store.match_search import Search, search_matches
from arena.store.registry import add_bots, all_bots
from arena.store.result_queries import iter_results, leaderboard_of
from arena.store.schema import SCHEMA_REVISIONS
from arena.store.store import Reader, Store
from arena.store.upgrade import upgrade_database
from commands import call
from databases import alter, asked
from later_schema import TO_FIRST_SCHEMA
from postgres import END_OTHER_SESSIONS, new_database, program
from protocol.errors import UsageFault
from referee.record import RecordedSeat
from referee_table import Table, header
from seasons import finish, result, season
from stored_matches import finished


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(Store.open(url)) as store:
        yield store


def test_a_database_of_the_first_schema_is_upgraded_to_what_a_new_one_has(url: str) -> None:
    old = new_database()
    alter(old, *TO_FIRST_SCHEMA)
    assert upgrade_database(open_database_url(old)) == (SCHEMA_REVISIONS[0], SCHEMA_REVISIONS[-1])
    for made in (
        "SELECT table_schema, table_name, column_name, data_type, collation_name, is_nullable, column_default"
        " FROM information_schema.columns WHERE table_schema LIKE 'arena%' ORDER BY 1, 2, ordinal_position",
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'arena'::regnamespace ORDER BY 1, 2",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'arena' ORDER BY 1",
        "SELECT viewname, definition FROM pg_views WHERE schemaname = 'arena_views' ORDER BY 1",
        "SELECT version_num FROM alembic_version",
    ):
        found = asked(old, made)
        assert found
        assert found == asked(url, made)


def test_a_reader_changes_nothing(url: str) -> None:
    with closing(Reader.open(url)) as reader, pytest.raises(StoreUnavailable, match="read-only transaction"):
        reader.read(add_bots, {"ann": "a" * 64})


def test_two_who_store_at_once_leave_no_gap(url: str) -> None:
    def play(name: str) -> None:
        with closing(Store.open(url)) as store:
            for number in range(8):
                finish(store, result(f"{name}-{number}", ("ann", name)))

    threads = [threading.Thread(target=play, args=(name,)) for name in ("bob", "cid", "dan")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with closing(Store.open(url)) as store:
        assert list(store.iterate(check_database, lambda *_, **__: ())) == []
        assert {row.bot: row.played for row in store.read(leaderboard_of, "nim/classic")}["ann"] == 24
        assert store.read(log_page).total == 24


@pytest.mark.parametrize("schema", ["arena", "arena_views"])
def test_a_schema_of_somebody_else_is_refused(schema: str) -> None:
    url = new_database(made=False)
    with psycopg.connect(url) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        connection.execute(f"CREATE TABLE {schema}.things (id integer)".encode())
    with pytest.raises(UnrecognizedDatabase, match=f"has a schema {schema} that is not Bot Arena's"):
        Store.open(url)


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        ("postgresql://ann:secret@127.0.0.1:1/arena", "127.0.0.1:1/arena: .*refused"),
        (
            "postgresql://ann:secret@127.0.0.1:port/arena",
            "that is no URL of a database, which is like postgresql://USER:PASSWORD@HOST/NAME",
        ),
        ("mysql://ann:secret@host/db", "a database URL is sqlite:///FILE or postgresql://"),
    ],
)
def test_a_server_that_is_not_there_is_one_line_without_its_password(where: str, complaint: str) -> None:
    with pytest.raises(StoreError, match=complaint) as caught:
        Store.open(where)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_psycopg_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'bot-arena\[postgres\]'"):
        Store.open("postgresql://localhost/arena")


def test_a_server_that_ends_each_connection_that_is_made_is_away(
    url: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.read(all_bots)
    alter(url, END_OTHER_SESSIONS)
    monkeypatch.setattr(postgres_database.PostgresDatabase, "_prepare_connection", lambda self, raw: raw.close())
    with pytest.raises(StoreUnavailable, match="the server has ended a connection that was just made"):
        store.read(all_bots)
    monkeypatch.undo()
    assert store.read(all_bots) == []


def test_the_server_keeps_a_cursor_of_all_results_and_none_of_a_page(store: Store) -> None:
    season(store)
    cursors: list[str] = []

    @event.listens_for(store._engine, "before_cursor_execute")
    def note(connection: Any, cursor: Any, *_: Any) -> None:
        cursors.append(type(cursor).__name__)

    assert len(store.read(search_matches, Search()).rows) == 30
    assert set(cursors) == {"Cursor"}
    assert next(store.iterate(iter_results)).match == "m29"
    assert cursors[-1] == "ServerCursor"


def test_text_with_a_nul_finds_nothing(store: Store) -> None:
    season(store)
    with pytest.raises(UsageFault, match="NUL"):
        store.read(bots_page, search="a\0b")


def test_what_was_broken_by_hand_is_told_in_lines(url: str, store: Store) -> None:
    season(store)
    alter(url, "ALTER TABLE bots DROP COLUMN seen CASCADE")
    with closing(Store.open(url)) as broken:
        found = list(broken.iterate(check_database, lambda *_, **__: ()))
    assert found[0] == "bot number 1 can't be read: column bots.seen does not exist"
    assert not any("transaction" in line or "\n" in line for line in found)


def test_an_older_server_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_database, "MIN_SERVER_VERSION", 990_000)
    with pytest.raises(StoreError, match=r"/arena_\d+\S* is PostgreSQL \d\d: 99 or newer is needed"):
        Store.open(url)


def test_what_a_backup_says_makes_one_and_restores_it(url: str, store: Store, tmp_path: Path) -> None:
    season(store)
    file = tmp_path / "my arena.dump"
    told = call("arena", "db", "backup", str(file), ARENA_DB=url)
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    commands = re.search("(pg_dump .*); .*(pg_restore .*)", told.err)
    assert commands is not None
    make, restore = (shlex.split(words) for words in commands.groups())
    subprocess.run([program(make[0]), *make[1:]], check=True)
    alter(url, "DELETE FROM records")
    finish(store, result("later"))
    store.close()
    subprocess.run([program(restore[0]), *restore[1:]], check=True)
    empty = new_database(made=False)
    subprocess.run([program("pg_restore"), "--dbname", empty, str(file)], check=True)
    for where in (url, empty):
        with closing(Store.open(where)) as restored:
            assert len(list(restored.iterate(iter_results))) == 30
            assert list(restored.iterate(check_database)) == []
            finish(restored, result("later"))


def test_an_arena_moves_to_a_server_and_back_with_every_row(tmp_path: Path) -> None:
    here, there, back = tmp_path / "here.db", new_database(made=False), tmp_path / "back.db"
    with closing(Store.open(here)) as store:
        season(store)
        store.write(add_bots, {"eve": "e" * 64})
    rows = copy_database(open_database_url(here), open_database_url(there))
    assert copy_database(open_database_url(there), open_database_url(back)) == rows
    assert (rows["matches"], rows["bots"], rows["seats"]) == (30, 5, 60)
    with closing(sqlite3.connect(here)) as before, closing(sqlite3.connect(back)) as after:
        assert sorted(before.iterdump()) == sorted(after.iterdump())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back.db", "here.db"]
    with closing(Store.open(there)) as store:
        store.write(add_bots, {"fay": "f" * 64})
        finish(store, result("m30"))
        assert list(store.iterate(check_database, lambda *_, **__: ())) == []


def test_the_same_matches_come_to_the_same_ratings_to_the_last_digit(url: str, tmp_path: Path) -> None:
    names = ("ann", "bob", "cid", "dan")
    matches = []
    for number in range(40):
        bots = (names[number % 4], names[(number % 4 + number % 3 + 1) % 4])
        seats = [RecordedSeat(bot=bot, version="1") for bot in bots]
        table = Table(header=replace(header("nim", match=f"m-{number}", rated=True), seats=seats)).begin()
        matches.append(finished(table.finish_at_random()))
    rows = []
    for where in (url, str(tmp_path / "arena.db")):
        with closing(Store.open(where)) as store:
            for at in range(0, len(matches), 9):
                store.write(finish_matches, matches[at : at + 9])
            assert list(store.iterate(check_database, check_match)) == []
        rows.append([asked(where if "://" in where else Path(where), query) for query in RATED])
    assert rows[0] == rows[1]
    assert len(rows[0][0]) == 4


RATED = (
    "SELECT bot, pool, mu, sigma, matches FROM ratings ORDER BY bot",
    "SELECT match, seat, mu_before, sigma_before, mu_after, sigma_after FROM seats ORDER BY match, seat",
)


def test_a_nul_that_a_file_has_from_before_is_shown_as_a_sign_on_a_server(tmp_path: Path) -> None:
    here, there = tmp_path / "here.db", new_database(made=False)
    with closing(Store.open(here)) as store:
        season(store, 1)
    alter(here, "INSERT INTO incidents (bot, at, code, text) VALUES (1, '2026', 'bad', 'a' || char(0) || 'b')")
    assert copy_database(open_database_url(here), open_database_url(there))["incidents"] == 1
    assert asked(there, "SELECT text FROM incidents") == [{"text": "a\N{SYMBOL FOR NULL}b"}]


def test_what_cannot_be_copied_is_told_with_its_table(tmp_path: Path) -> None:
    here, there = tmp_path / "here.db", new_database(made=False)
    with closing(Store.open(here)) as store:
        season(store, 1)
    alter(here, "UPDATE matches SET plies = 1 << 40")
    with pytest.raises(StoreError, match=r"^table matches: postgresql://.*: integer out of range"):
        copy_database(open_database_url(here), open_database_url(there))
    alter(here, "UPDATE matches SET reason = CAST(x'ff' AS text)")
    with pytest.raises(StoreError, match=f"^table matches: {here}: Could not decode to UTF-8"):
        copy_database(open_database_url(here), open_database_url(there))


def test_what_is_there_is_not_written_over_and_what_was_cut_off_leaves_nothing(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here.db"
    with closing(Store.open(here)) as store:
        season(store)
    with pytest.raises(UsageFault, match=r"there is an arena in .* already"):
        copy_database(open_database_url(here), open_database_url(url))

    copy_table = database_copy._copy_table

    def stop(rows: Any, to: Any, made: Any, table: DatabaseTable) -> int:
        if table.name == "ratings":
            raise KeyboardInterrupt
        return copy_table(rows, to, made, table)

    monkeypatch.setattr(database_copy, "_copy_table", stop)
    for place in (tmp_path / "there.db", new_database(made=False)):
        to = open_database_url(place)
        with pytest.raises(KeyboardInterrupt):
            copy_database(open_database_url(here), to)
        assert to.revision() is None
    assert {path.stem for path in tmp_path.iterdir()} == {"here"}
