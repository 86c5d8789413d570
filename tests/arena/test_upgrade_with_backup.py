"""A database that is copied before it is upgraded, by hand or when a server starts."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config

from arena.commands.serve import upgrade_if_older
from arena.store.database_url import open_database_url
from arena.store.schema import APPLICATION_ID, SCHEMA_REVISIONS
from arena.store.upgrade import MIGRATIONS_FOLDER
from commands import call
from processes import serving


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with an empty database of an older schema."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    with closing(sqlite3.connect(folder / "arena.db")) as marked:
        marked.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS_FOLDER))
    engine = open_database_url(folder / "arena.db").connect()
    with engine.execution_options(begin="BEGIN IMMEDIATE").begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0007")
    engine.dispose()
    (folder / "arena.db").chmod(0o600)
    return folder


def test_it_is_copied_before_and_only_if_there_is_anything_to_do(data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    done = call("arena", "db", "upgrade", "--data", str(data), "--backup", str(copy))
    assert done == (
        0,
        f"{data}/arena.db has schema {SCHEMA_REVISIONS[-1]}, upgraded from 0007; as it was: {copy}\n",
        "",
    )
    assert open_database_url(copy).revision() == "0007"
    other = tmp_path / "other.db"
    done = call("arena", "db", "upgrade", "--data", str(data), "--backup", str(other))
    assert done.out == f"{data}/arena.db has schema {SCHEMA_REVISIONS[-1]}: nothing to do, and no backup made\n"
    assert not other.exists()


def test_without_its_copy_nothing_is_upgraded(data: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.db").touch()
    done = call("arena", "db", "upgrade", "--data", str(data), "--backup", str(tmp_path / "copy.db"))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "already exists" in done.err
    assert open_database_url(data / "arena.db").revision() == "0007"


def test_a_server_does_not_start_where_it_may_not_upgrade_or_not_copy(data: Path, tmp_path: Path) -> None:
    words = ("serve", "--data", str(data), "--port", "0", "--no-web")
    refused = call("arena", *words)
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "older than this bot-arena's: run `arena db upgrade`" in refused.err
    failed = call("arena", *words, "--upgrade", "--backup-to", "/proc/no")
    assert (failed.code, failed.err.splitlines()[-1]) == (
        1,
        "arena: the folder for backups /proc/no can't be made: No such file or directory",
    )
    assert open_database_url(data / "arena.db").revision() == "0007"


@pytest.mark.parametrize("folder", ["data", "backups"])
def test_it_is_copied_beside_itself_or_into_the_folder_for_backups_once(
    data: Path, tmp_path: Path, folder: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    backup_to = None if folder == "data" else str(tmp_path / folder)
    for _ in range(2):
        upgrade_if_older(open_database_url(data / "arena.db"), backup_to)
    (copy,) = copies(tmp_path / folder)
    assert open_database_url(copy).revision() == "0007"
    assert open_database_url(data / "arena.db").revision() == SCHEMA_REVISIONS[-1]
    said = [record.getMessage() for record in caplog.records if record.name == "arena"]
    assert said == [
        "the database has schema 0007, older than this version's: it is copied and upgraded",
        f"the database has schema {SCHEMA_REVISIONS[-1]} now; as it was: {copy}",
    ]


async def test_a_server_that_may_upgrade_does_so_and_starts(data: Path, tmp_path: Path) -> None:
    async with serving(data, "--upgrade", "--backup-to", str(tmp_path / "backups")) as served:
        said = "".join(served.said)
    (copy,) = copies(tmp_path / "backups")
    assert f"the database has schema {SCHEMA_REVISIONS[-1]} now; as it was: {copy}" in said


def copies(folder: Path) -> list[Path]:
    return list(folder.glob("arena-schema-0007-*Z.db"))
