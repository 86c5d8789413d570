"""A database of a stranger may name any path as a file of old records: none outside of its folder is touched."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from arena.store.archiving import purge_removed_records
from arena.store.backup import back_up, remove_copy
from arena.store.store import Store
from databases import alter
from protocol.errors import ArenaFault
from seasons import finish, result


def test_a_backup_copies_and_removes_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    data, backups = tmp_path / "deep" / "data", tmp_path / "backups"
    data.mkdir(parents=True)
    backups.mkdir()
    secret, wanted = tmp_path / "deep" / "secret", tmp_path / "secret"
    secret.write_text("mine")
    with closing(Store.open(data / "arena.db")) as store:
        finish(store, result("m1"))
        alter(store.database, "INSERT INTO archives (path, records, bytes) VALUES ('../secret', 1, 4)")
        alter(store.database, "UPDATE matches SET archive = (SELECT number FROM archives)")
        made = back_up(store.database, backups / "copy.db")
    assert (made.files, made.missing) == ([], [data / "../secret"])
    assert not wanted.exists()
    wanted.write_text("of another")
    remove_copy(backups / "copy.db")
    assert wanted.read_text() == "of another"
    assert not list(backups.iterdir())


def test_no_other_file_is_removed_as_one_of_removed_records(tmp_path: Path) -> None:
    other, part = tmp_path / "thesis.txt", tmp_path / "film.part"
    for file in (other, part):
        file.write_text("mine")
    with closing(Store.open(tmp_path / "data" / "arena.db")) as store:
        alter(store.database, f"INSERT INTO archives (path, records, bytes) VALUES ('{other}', 1, 4)")
        with pytest.raises(ArenaFault, match=r"thesis\.txt is no file of old records by its name"):
            purge_removed_records(store)
    assert [file.read_text() for file in (other, part)] == ["mine", "mine"]
