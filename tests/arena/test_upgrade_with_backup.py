"""A database that is copied before it is upgraded, by hand or when a server starts."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from arena.commands.serve import upgrade_if_older
from arena.store.database_url import open_database_url
from arena.store.store import Store
from commands import call
from later_schema import FIRST, LATER, use_later_schema


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder with an empty database of an older schema."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    Store.open(folder / "arena.db").close()
    use_later_schema(monkeypatch, tmp_path / "migrations")
    return folder


def test_it_is_copied_before_and_only_if_there_is_anything_to_do(data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    done = call("arena", "db", "upgrade", "--data", str(data), "--backup", str(copy))
    assert done == (
        0,
        f"{data}/arena.db has schema {LATER}, upgraded from {FIRST}; as it was: {copy}\n",
        "",
    )
    assert open_database_url(copy).revision() == FIRST
    other = tmp_path / "other.db"
    done = call("arena", "db", "upgrade", "--data", str(data), "--backup", str(other))
    assert done.out == f"{data}/arena.db has schema {LATER}: nothing to do, and no backup made\n"
    assert not other.exists()


def test_without_its_copy_nothing_is_upgraded(data: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.db").touch()
    done = call("arena", "db", "upgrade", "--data", str(data), "--backup", str(tmp_path / "copy.db"))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "already exists" in done.err
    assert open_database_url(data / "arena.db").revision() == FIRST


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
    assert open_database_url(data / "arena.db").revision() == FIRST


def test_a_server_is_not_replaced_by_one_that_could_not_use_its_database_or_certificate(data: Path) -> None:
    words = ("config", "--can-start", "--data", str(data))
    refused = call("arena", *words)
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "older than this bot-arena's: run `arena db upgrade`" in refused.err
    assert call("arena", *words, "--upgrade").code == 0
    refused = call("arena", *words, "--upgrade", "--tls-cert", "no.pem", "--tls-key", "no.key")
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)


@pytest.mark.parametrize("folder", ["data", "backups"])
def test_it_is_copied_beside_itself_or_into_the_folder_for_backups_once(
    data: Path, tmp_path: Path, folder: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    backup_to = None if folder == "data" else str(tmp_path / folder)
    for _ in range(2):
        upgrade_if_older(open_database_url(data / "arena.db"), backup_to)
    (copy,) = copies(tmp_path / folder)
    assert open_database_url(copy).revision() == FIRST
    assert open_database_url(data / "arena.db").revision() == LATER
    said = [record.getMessage() for record in caplog.records if record.name == "arena"]
    assert said == [
        f"the database has schema {FIRST}, older than this version's: it is copied and upgraded",
        f"the database has schema {LATER} now; as it was: {copy}",
    ]


def copies(folder: Path) -> list[Path]:
    return list(folder.glob(f"arena-schema-{FIRST}-*Z.db"))
