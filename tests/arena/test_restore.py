"""`arena match restore`: records that were removed or are damaged, put back from a backup, or not."""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arena.store.registry import anonymize_bot
from arena.store.result_queries import record_of
from arena.store.store import Store
from arena.store.thinning import Retention, find_removable, remove_all, remove_records
from commands import Done, call
from library import ANN, BOB, Library

MATCHES = ("one", "two", "three", "friendly")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with matches that were played, of which `copy.db` is a backup; all records were removed since."""
    with closing(Store.open(tmp_path / "arena.db")) as store:
        library = Library(store)
        for name in MATCHES:
            library.play("nim", [ANN, BOB], match=name, rated=name != "friendly")
    assert call("arena", "db", "backup", str(tmp_path / "copy.db"), "--data", str(tmp_path)).code == 0
    with closing(Store.open(tmp_path / "arena.db")) as store:
        remove_all(store, remove_records, store.read(find_removable, Retention(unrated_days=1, rated_days=1)))
    return tmp_path


def restore(data: Path, *ids: str, backup: str = "copy.db") -> Done:
    return call("arena", "match", "restore", *ids, "--from", str(data / backup), "--data", str(data))


def change(file: Path, statement: str, *values: object) -> None:
    with closing(Store.open(file)) as store:
        store.write(lambda connection: connection.exec_driver_sql(statement, values).rowcount)


def kept(file: Path, match: str) -> bytes | None:
    with closing(Store.open(file)) as store:
        return store.read(record_of, match)


def removed(data: Path) -> int:
    """How many matches have no record, in a database that adds up."""
    done = call("arena", "db", "check", "--data", str(data))
    assert done.code == 0, done.out
    return int(done.out.partition("; ")[2].partition(" ")[0] or 0)


def test_records_that_were_removed_are_put_back_and_verify(data: Path) -> None:
    done = restore(data, "two", "friendly", "two")
    assert (done.code, done.out, done.err) == (0, "2 records restored, verified: two, friendly\n", "")
    assert kept(data / "arena.db", "two") == kept(data / "copy.db", "two")
    assert removed(data) == 2
    assert restore(data, "two", "one").out == (
        "1 record restored, verified: one\nnothing to restore, the record is there and verifies: two\n"
    )
    assert call("arena", "replay", "verify", "one", "--data", str(data)).code == 0


@pytest.mark.parametrize("damage", [b"not gzip", "text", None])
def test_a_damaged_record_is_replaced(data: Path, damage: object) -> None:
    assert restore(data, *MATCHES).code == 0
    number = "(SELECT number FROM matches WHERE id = 'two')"
    if damage is None:
        change(data / "arena.db", f"DELETE FROM records WHERE match = {number}")
    else:
        change(data / "arena.db", f"UPDATE records SET data = ? WHERE match = {number}", damage)
    assert call("arena", "db", "check", "--data", str(data)).code == 1
    assert restore(data, "two").out == "1 record restored, verified: two\n"
    assert removed(data) == 0


def test_what_was_annulled_renamed_and_rated_anew_since_is_put_back(data: Path) -> None:
    assert call("arena", "match", "annul", "one", "--data", str(data)).code == 0
    with closing(Store.open(data / "arena.db")) as store:
        store.write(anonymize_bot, ANN.name)
    assert restore(data, *MATCHES).code == 0
    assert removed(data) == 0


def altered(record: bytes) -> bytes:
    lines: list[Any] = [json.loads(line) for line in gzip.decompress(record).splitlines()]
    lines[-1]["digest"] = "0" * 64
    return gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


@pytest.mark.parametrize("kind", ["altered", "of another match"])
def test_a_record_that_is_not_that_of_the_result_is_refused_and_nothing_restored(data: Path, kind: str) -> None:
    body = altered(kept(data / "copy.db", "two") or b"") if kind == "altered" else kept(data / "copy.db", "three")
    change(
        data / "copy.db",
        "UPDATE records SET data = ? WHERE match = (SELECT number FROM matches WHERE id = 'two')",
        body,
    )
    done = restore(data, "one", "two")
    assert (done.code, done.out) == (1, "")
    says = {"altered": "digest should be ", "of another match": "match is 'two', the record says 'three'"}[kind]
    told = f"arena: the record of match two in {data}/copy.db is not that of its result: "
    assert done.err.startswith(told)
    assert says in done.err
    assert done.err.count("\n") == 1
    assert removed(data) == 4


def test_a_match_that_is_missing_here_is_refused_with_what_to_do(data: Path) -> None:
    done = restore(data, "one", "nine")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"arena: not in {data}/arena.db: nine; a record is put back beside its result alone: for a match that is"
        " missing restore the whole backup\n"
    )
    assert removed(data) == 4


def test_a_backup_that_has_no_record_either_is_said_to(data: Path) -> None:
    assert call("arena", "db", "backup", str(data / "late.db"), "--data", str(data)).code == 0
    with closing(Store.open(data / "other.db")) as store:
        Library(store).play("nim", [ANN, BOB], match="else")
    (data / "diary.db").write_text("my diary\n")
    (data / "empty.db").touch()
    for backup, code, says in (
        ("late.db", 1, f"{data}/late.db has no record of match one either, it was removed: try an older one"),
        ("other.db", 2, f"there is no match 'one' with a record in {data}/other.db: try another backup"),
        ("none.db", 2, f"there is no file '{data}/none.db': name a copy that `arena db backup` made"),
        ("diary.db", 2, f"{data}/diary.db has no database of an arena: name a copy that `arena db backup` made"),
        ("empty.db", 2, f"{data}/empty.db has no database of an arena: name a copy that `arena db backup` made"),
    ):
        done = restore(data, "one", backup=backup)
        assert (done.code, done.out, done.err) == (code, "", f"arena: {says}\n")


async def test_it_works_beside_a_running_server(serve: Any, data: Path) -> None:
    served = await serve()
    Library(served.store).play("nim", [ANN, BOB], match="one")
    number = "(SELECT number FROM matches WHERE id = 'one')"
    assert call("arena", "db", "backup", str(served.data / "copy.db"), "--data", str(served.data)).code == 0
    change(served.data / "arena.db", f"DELETE FROM records WHERE match = {number}")
    assert restore(served.data, "one").code == 0
    assert served.store.read(record_of, "one") is not None
