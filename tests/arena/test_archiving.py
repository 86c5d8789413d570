"""Records of old matches moved to files: which are, that everything reads them there, and that none is ever lost."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import lzma
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arena.operations.names import Delete
from arena.store import archive_file, archiving, backup, integrity_check
from arena.store.actions import actions_page
from arena.store.archives import all_archives
from arena.store.archiving import (
    MAX_RECORDS_PER_FILE,
    ArchivingTotals,
    OldRecordFilter,
    count_old_records,
    in_batches,
    move_all,
    move_records,
    next_old_records,
    purge_removed_records,
)
from arena.store.integrity_check import check_database
from arena.store.registry import anonymize_bot
from arena.store.result_queries import RecordRemoved, iter_results, leaderboard_of, record_of
from arena.store.store import Store
from arena.store.thinning import RecordsOfBot, remove_all
from arena.web.site import Site
from commands import Done, call
from databases import EVERY_DATABASE, POSTGRESQL_ALONE, SQLITE_ALONE, alter, filled_store
from library import ANN, BOB, Library
from postgres import new_database
from web_client import answer, served

pytestmark = EVERY_DATABASE
EVER = OldRecordFilter(until="9", rated=True)


def play_ten(store: Store) -> None:
    """Store matches that were played at the beginning of the year, and one of a tournament."""
    library = Library(store)
    for number in range(6):
        library.play("nim", [ANN, BOB], match=f"friendly-{number}", rated=False)
    for number in range(3):
        library.play("tictactoe", [ANN, BOB], match=f"rated-{number}")
    library.play("nim", [ANN, BOB], match="placed", tournament="t1", place=0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(filled_store(tmp_path / "arena.db", play_ten)) as opened:
        yield opened


def play_others(store: Store) -> bytes | None:
    """Store a match of bots other than ann; its record."""
    Library(store, "others").play("nim", [BOB, ANN._replace(name="cid")], match="of-others", rated=False)
    return store.read(record_of, "of-others")


@pytest.fixture
def arena(store: Store, tmp_path: Path) -> Callable[..., Done]:
    return partial(call, "arena", ARENA_DB=str(tmp_path / "arena.db"), ARENA_DATA=str(tmp_path))


def bodies(store: Store) -> dict[str, bytes | None]:
    return {one.match: store.read(record_of, one.match) for one in list(store.iterate(iter_results))}


def moved(store: Store) -> set[str]:
    """The matches whose records are in a file."""
    rows = store.read(lambda c: c.exec_driver_sql("SELECT id FROM matches WHERE archive IS NOT NULL").all())
    return {row.id for row in rows}


def files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "archive").iterdir() if path.suffix != ".lock")


def test_old_records_of_unrated_matches_are_moved_and_read_as_before(
    store: Store, tmp_path: Path, arena: Callable[..., Done]
) -> None:
    before, ladder = bodies(store), store.read(leaderboard_of, "tictactoe/classic")
    whole = arena("export", "--to", str(tmp_path / "before")).out
    done = arena("db", "thin", "--older", "1d")
    folder = re.escape(f"{tmp_path}/archive")
    assert re.match(f"6 records, [1-9] KiB, moved to 1 file in {folder}, [1-9] KiB; the database file keeps ", done.out)
    assert (done.code, done.err) == (0, "")
    assert moved(store) == {f"friendly-{number}" for number in range(6)}
    assert (bodies(store), store.read(leaderboard_of, "tictactoe/classic")) == (before, ladder)
    assert arena("replay", "show", "friendly-3").code == arena("replay", "verify", "friendly-3").code == 0
    assert arena("replay", "verify").out == "10 records verified\n"
    assert arena("export", "--to", str(tmp_path / "after")).out == whole.replace("before", "after")
    for table in ("matches", "seats", "plies"):
        assert (tmp_path / "after" / f"{table}.csv").read_bytes() == (tmp_path / "before" / f"{table}.csv").read_bytes()
    told = arena("db", "check").out
    assert told.endswith("and the ratings follow from the results; 6 records are in 1 file of old records\n")
    there = files(tmp_path)
    assert arena("db", "thin", "--older", "1d").out.startswith("0 records, 0 KiB, moved; ")
    assert files(tmp_path) == there


def test_pages_and_api_read_a_record_that_was_moved(store: Store, tmp_path: Path) -> None:
    record = store.read(record_of, "friendly-2")
    move_all(store, EVER, tmp_path / "archive")
    with served(Site(store)) as url:
        assert answer(f"{url}/matches/friendly-2").status == 200
        assert answer(f"{url}/api/v1/matches/friendly-2/record.jsonl.gz").body == record


def test_what_would_be_moved_is_told_and_nothing_is(store: Store, tmp_path: Path, arena: Callable[..., Done]) -> None:
    size = sum(len(body or b"") for match, body in bodies(store).items() if match.startswith("friendly"))
    assert store.read(count_old_records, OldRecordFilter(until="9")) == ArchivingTotals(records=6, bytes=size)
    told = f"6 records, {-(size // -1024)} KiB, would be"
    assert arena("db", "thin", "--older", "12w", "--dry-run").out == f"{told} moved to files; this was a dry run\n"
    assert arena("db", "thin", "--dry-run").out == f"{told} removed; this was a dry run\n"
    assert moved(store) == set()
    assert not (tmp_path / "archive").exists()


@pytest.mark.parametrize(
    ("old", "found"),
    [
        (OldRecordFilter(until="9"), {"friendly"}),
        (OldRecordFilter(until="9", house=("ann",)), {"friendly", "rated"}),
        (OldRecordFilter(until="9", house=("nobody",)), {"friendly"}),
        (OldRecordFilter(until="9", rated=True), {"friendly", "rated"}),
        (OldRecordFilter(until="2026-01-01"), set()),
    ],
)
def test_records_are_moved_by_age_and_kind_and_never_those_of_a_tournament(
    store: Store, tmp_path: Path, old: OldRecordFilter, found: set[str]
) -> None:
    move_all(store, old, tmp_path / "archive")
    assert {match.partition("-")[0] for match in moved(store)} == found


def test_matches_of_the_house_are_those_of_bots_whose_tokens_are_in_the_data_folder(
    store: Store, tmp_path: Path, arena: Callable[..., Done]
) -> None:
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "tokens.json").write_text('{"bob": "secret"}')
    assert arena("db", "thin", "--older", "1d").out.startswith("9 records, ")


class Killed(BaseException):
    """The process ends here."""


def cut_off_calls(patch: pytest.MonkeyPatch, owner: Any, name: str, nth: int) -> None:
    """Have the process end at the call of a function that has this number, from 0, and at any after it."""
    calls, real = itertools.count(), getattr(owner, name)

    def cut(*words: Any, **more: Any) -> Any:
        if next(calls) >= nth:
            raise Killed
        return real(*words, **more)

    patch.setattr(owner, name, cut)


@SQLITE_ALONE
@pytest.mark.parametrize("name", ["fsync", "replace", "unlink"])
@pytest.mark.parametrize("nth", [0, 1, 2, *(pytest.param(nth, marks=pytest.mark.ci) for nth in (3, 4))])
def test_cut_off_at_any_change_of_a_file_nothing_is_lost(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, nth: int
) -> None:
    before = bodies(store)
    with monkeypatch.context() as patch:
        cut_off_calls(patch, os, name, nth)
        try:
            move_all(store, OldRecordFilter(until="9"), tmp_path / "archive")
        except Killed:
            assert name == "unlink" or moved(store) == set()
    assert bodies(store) == before
    move_all(store, OldRecordFilter(until="9"), tmp_path / "archive")
    assert len(moved(store)) == 6
    assert bodies(store) == before
    assert list(store.iterate(check_database)) == []
    assert [path.suffix for path in files(tmp_path)] == [".zip"]


@pytest.mark.parametrize("nth", [pytest.param(nth, marks=pytest.mark.nightly if nth % 3 else ()) for nth in range(12)])
def test_cut_off_between_two_transactions_nothing_is_lost(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    before = bodies(store)
    with monkeypatch.context() as patch:
        patch.setattr(archiving, "in_batches", lambda records: ([one] for one in records))
        patch.setattr(archiving, "MAX_RECORDS_PER_FILE", 4)
        cut_off_calls(patch, store, "write", nth)
        with pytest.raises(Killed):
            move_all(store, EVER, tmp_path / "archive")
    there = len(moved(store))
    assert there < 9
    assert bodies(store) == before
    assert set(files(tmp_path)) <= {one.path for one in store.read(all_archives)}, "each is known"
    assert list(store.iterate(check_database)) == []
    assert move_all(store, EVER, tmp_path / "archive").records == 9 - there
    assert bodies(store) == before
    assert list(store.iterate(check_database)) == []


def test_that_records_are_moved_is_noted_also_where_that_is_cut_off(
    store: Store, arena: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off_calls(monkeypatch, archiving, "in_batches", 0)
    with pytest.raises(Killed):
        arena("db", "thin", "--older", "1d")
    assert [one.do for one in store.read(actions_page).rows] == ["move_records"]


def test_a_record_that_is_damaged_stays_and_holds_up_no_other(store: Store, tmp_path: Path) -> None:
    def damage(connection: Any) -> None:
        connection.exec_driver_sql("UPDATE records SET data = substr(data, 1, 40) WHERE match = 2")

    store.write(damage)
    assert move_all(store, EVER, tmp_path / "archive").records == 8
    assert "friendly-1" not in moved(store)


def test_a_record_that_was_put_back_meanwhile_is_not_taken_for_the_one_in_the_file(
    store: Store, tmp_path: Path
) -> None:
    found, _ = store.read(next_old_records, EVER, archiving.ScanPosition())
    with archive_file.lock_archives(tmp_path / "archive"):
        new = archive_file.plan_archive(tmp_path / "archive", found)
        assert new is not None
        size = archive_file.write_archive(new)
    other = "UPDATE records SET data = (SELECT data FROM records WHERE match = 2) WHERE match = 1"
    store.write(lambda connection: connection.exec_driver_sql(other).rowcount)
    store.write(move_records, new.path, (len(new.records), size), new.records)
    assert "friendly-0" not in moved(store)


@SQLITE_ALONE
def test_one_record_is_read_by_unpacking_one_block(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bodies(store)
    monkeypatch.setattr(archive_file, "BLOCK_RECORDS", 2)
    move_all(store, OldRecordFilter(until="9"), tmp_path / "archive")
    unpacked = archive_file._read_block.cache_info().misses
    assert store.read(record_of, "friendly-3") == before["friendly-3"]
    assert archive_file._read_block.cache_info().misses == unpacked + 1
    assert store.read(record_of, "friendly-2") == before["friendly-2"]
    assert archive_file._read_block.cache_info().misses == unpacked + 1, "its neighbour is there already"
    assert bodies(store) == before


def test_a_check_unpacks_a_block_once_also_where_matches_of_several_files_take_turns(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(store, "others")
    for number in range(12):
        library.play("nim", [ANN, BOB], match=f"turn-{number}", rated=number % 2 == 0)
    move_all(store, EVER, tmp_path / "archive")
    caches = archive_file._read_block, archive_file._read_directory
    before, asked = [one.cache_info().misses for one in caches], []
    monkeypatch.setattr(integrity_check.result_queries, "record_of", lambda _, match: asked.append(match))
    assert list(store.iterate(check_database)) == []
    assert [one.cache_info().misses - missed for one, missed in zip(caches, before, strict=True)] == [2, 2]
    assert asked == []


def test_a_file_that_is_being_moved_to_is_not_written_anew(store: Store, tmp_path: Path) -> None:
    before = bodies(store)
    refused: list[str] = []

    def rest(seconds: float) -> None:
        if len(moved(store)) == 6:
            return
        with pytest.raises(archive_file.ArchivesBusy) as busy:
            purge_removed_records(store)
        refused.append(str(busy.value))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archiving, "in_batches", lambda records: ([one] for one in records))
        move_all(store, OldRecordFilter(until="9"), tmp_path / "archive", rest)
    told = f"another process changes the files in {tmp_path}/archive: try again when it is done"
    assert refused == [told] * 5
    purge_removed_records(store)
    assert bodies(store) == before


@SQLITE_ALONE
def test_any_zip_and_xz_reads_a_file(store: Store, tmp_path: Path) -> None:
    body = store.read(record_of, "friendly-0")
    move_all(store, OldRecordFilter(until="9"), tmp_path / "archive")
    (file,) = files(tmp_path)
    with zipfile.ZipFile(file) as opened:
        lines = b"".join(lzma.decompress(opened.read(name)) for name in opened.namelist())
    assert body is not None
    assert lines.startswith(gzip.decompress(body))
    assert lines.count(b'{"type":"header"') == 6


def test_a_file_and_a_transaction_are_of_a_bounded_size(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archiving, "MAX_BYTES_PER_FILE", 1)
    rests: list[float] = []
    assert move_all(store, OldRecordFilter(until="9"), tmp_path / "archive", rests.append).files == 6
    assert (len(rests), min(rests) > 0) == (6, True), "after each transaction it rests for those who wait"
    many = [archive_file.OldRecord(number, f"m{number}", bytes(300_000)) for number in range(8)]
    assert [len(batch) for batch in in_batches(many)] == [3, 3, 2]
    assert MAX_RECORDS_PER_FILE <= 1024


def test_without_its_file_a_record_is_told_to_be_missing_and_comes_back_from_a_backup(
    store: Store, tmp_path: Path, arena: Callable[..., Done], database_kind: str
) -> None:
    if database_kind == "sqlite":
        assert arena("db", "backup", str(tmp_path / "copy.db")).code == 0
    arena("db", "thin", "--older", "1d")
    (file,) = files(tmp_path)
    file.unlink()
    why = f"the record of match friendly-3 is not here, the file {file} is missing: its result is what is left"
    assert arena("replay", "show", "friendly-3") == (1, "", f"arena: {why}\n")
    assert arena("db", "check").out == f"the file {file} is missing, with the records of 6 matches\n"
    with pytest.raises(RecordRemoved):
        store.read(record_of, "friendly-0")
    if database_kind == "sqlite":
        assert arena("match", "restore", "friendly-3", "--from", str(tmp_path / "copy.db")).code == 0
        assert arena("replay", "verify", "friendly-3").code == 0


@SQLITE_ALONE
@pytest.mark.parametrize("at", [60, -30])
def test_a_damaged_file_is_told_in_one_line(store: Store, tmp_path: Path, arena: Callable[..., Done], at: int) -> None:
    move_all(store, OldRecordFilter(until="9"), tmp_path / "archive")
    (file,) = files(tmp_path)
    changed = bytearray(file.read_bytes())
    changed[at] ^= 0xFF
    file.write_bytes(changed)
    done = arena("db", "check")
    assert done.code == 1
    assert f"{file} is damaged: " in done.out or " has no record" in done.out
    done = arena("replay", "verify", "friendly-0")
    assert done.code in (1, 2)
    assert done.err.count("\n") == 1


@SQLITE_ALONE
def test_a_backup_has_the_files_beside_it_and_each_once(
    store: Store, tmp_path: Path, arena: Callable[..., Done]
) -> None:
    before = bodies(store)
    arena("db", "thin", "--older", "1d")
    done = arena("db", "backup", str(tmp_path / "kept" / "one.db"))
    assert done.code == 1, "the folder is not there"
    (tmp_path / "kept").mkdir()
    done = arena("db", "backup", str(tmp_path / "kept" / "one.db"))
    assert done.out.endswith("copied the files of old records beside it too: 1 file\n")
    (copied,) = files(tmp_path / "kept")
    noted = copied.stat().st_ino
    arena("db", "backup", str(tmp_path / "kept" / "two.db"))
    assert files(tmp_path / "kept")[0].stat().st_ino == noted
    for path in files(tmp_path):
        path.unlink()
    with closing(Store.open(tmp_path / "kept" / "two.db")) as copy:
        assert bodies(copy) == before
    assert (copied.stat().st_mode & 0o777, copied.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@SQLITE_ALONE
def test_a_backup_has_the_records_of_a_file_that_is_written_anew_meanwhile(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = play_others(store)
    move_all(store, OldRecordFilter(until="9"), tmp_path / "archive")
    (tmp_path / "kept").mkdir()
    copy = backup._copy

    def copy_before_a_bot_is_deleted(source: Path, part: Path) -> int:
        copied = copy(source, part)
        remove_all(store, RecordsOfBot("ann").remove)
        purge_removed_records(store)
        return copied

    monkeypatch.setattr(backup, "_copy", copy_before_a_bot_is_deleted)
    made = backup.back_up(store.database, tmp_path / "kept" / "copy.db")
    assert (len(made.files), made.elsewhere, made.missing) == (1, [], [])
    with closing(Store.open(tmp_path / "kept" / "copy.db")) as kept:
        assert kept.read(record_of, "of-others") == others


@SQLITE_ALONE
def test_a_backup_tells_files_that_are_elsewhere_from_those_that_are_missing(
    store: Store, tmp_path: Path, arena: Callable[..., Done]
) -> None:
    (tmp_path / "data").mkdir()
    assert arena("db", "backup", str(tmp_path / "data" / "arena.db")).code == 0
    there = partial(arena, ARENA_DB=str(tmp_path / "data" / "arena.db"))
    assert there("db", "thin", "--older", "1d", "--to", str(tmp_path / "archive")).code == 0
    (file,) = files(tmp_path)
    told = f"not copied: {file}: what has old records of it, but is not below the database's folder\n"
    assert there("db", "backup", str(tmp_path / "one.db")).out.endswith(told)
    file.unlink()
    alter(tmp_path / "data" / "arena.db", "INSERT INTO archives (path, records, bytes) VALUES ('begun.zip', 9, 0)")
    told = f"missing, with old records of it: {file}\n"
    assert there("db", "backup", str(tmp_path / "two.db")).out.endswith(told)


@POSTGRESQL_ALONE
def test_of_a_database_on_a_server_the_files_are_named_that_belong_with_it(
    store: Store, tmp_path: Path, arena: Callable[..., Done]
) -> None:
    arena("db", "thin", "--older", "1d")
    done = arena("db", "backup", str(tmp_path / "copy"))
    assert done.out == f"6 records are in 1 file of old records in {tmp_path}/archive: copy that as well\n"
    assert "pg_dump" in done.err


@SQLITE_ALONE
def test_a_data_folder_that_was_moved_has_its_records_still(store: Store, tmp_path: Path) -> None:
    before = bodies(store)
    move_all(store, EVER, tmp_path / "archive")
    (tmp_path / "new").mkdir()
    for name in ("arena.db", "arena.db-wal", "arena.db-shm", "archive"):
        if (tmp_path / name).exists():
            (tmp_path / name).rename(tmp_path / "new" / name)
    with closing(Store.open(tmp_path / "new" / "arena.db")) as moved_on:
        assert bodies(moved_on) == before


@SQLITE_ALONE
@pytest.mark.parametrize("to", ["sqlite", "postgresql"])
def test_an_arena_that_was_copied_finds_the_files_where_they_were(
    store: Store, tmp_path: Path, arena: Callable[..., Done], to: str
) -> None:
    before = bodies(store)
    move_all(store, EVER, tmp_path / "archive")
    (tmp_path / "other").mkdir()
    url = f"sqlite:///{tmp_path / 'other' / 'arena.db'}" if to == "sqlite" else new_database(made=False)
    (tmp_path / "url").write_text(f"{url}\n")
    done = arena("db", "copy", str(tmp_path / "arena.db"), f"@{tmp_path}/url")
    told = f"9 records are in 2 files of old records in {tmp_path}/archive, where they were: keep them there\n"
    assert done.out.endswith(told)
    with closing(Store.open(url)) as copy:
        assert bodies(copy) == before


def test_with_a_bot_its_records_leave_the_files_too(store: Store, tmp_path: Path, arena: Callable[..., Done]) -> None:
    before = bodies(store)
    others = play_others(store)
    move_all(store, OldRecordFilter(until="9"), tmp_path / "archive")
    (whole,) = files(tmp_path)
    done = arena("bot", "delete", "ann", "--records")
    assert done.out.endswith("10 records of its matches removed\n")
    (left,) = files(tmp_path)
    assert left != whole
    assert {match for match, _ in archive_file.read_archive(left, [*before, "of-others"])} == {"of-others"}
    assert store.read(record_of, "of-others") == others
    assert arena("db", "check").code == 0
    assert arena("bot", "delete", "cid", "--records").code == 0
    assert files(tmp_path) == []
    assert store.read(all_archives) == []


@pytest.mark.parametrize(
    ("name", "nth"),
    [
        *(("write", 0), ("write", 2), ("unlink", 0), ("replace", 0)),
        *(pytest.param(*one, marks=pytest.mark.ci) for one in (("write", 1), ("fsync", 2))),
    ],
)
def test_cut_off_as_records_of_a_bot_leave_the_files_the_next_try_leaves_none(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, nth: int
) -> None:
    others = play_others(store)
    move_all(store, OldRecordFilter(until="9"), tmp_path / "archive")
    remove_all(store, RecordsOfBot("ann").remove)
    with monkeypatch.context() as patch:
        cut_off_calls(patch, store if name == "write" else os, name, nth)
        with pytest.raises(Killed):
            purge_removed_records(store)
    assert store.read(record_of, "of-others") == others
    assert set(files(tmp_path)) <= {one.path for one in store.read(all_archives)}, "each is known"
    assert list(store.iterate(check_database)) == []
    purge_removed_records(store)
    (left,) = files(tmp_path)
    assert [one.path for one in store.read(all_archives)] == [left]
    assert [match for match, _ in archive_file.read_archive(left, ["friendly-0", "of-others"])] == ["of-others"]
    assert store.read(record_of, "of-others") == others


def test_a_bot_whose_deletion_was_cut_off_is_deleted_from_the_files_by_the_next_one(
    store: Store, tmp_path: Path, arena: Callable[..., Done]
) -> None:
    move_all(store, EVER, tmp_path / "archive")
    placeholder = store.write(anonymize_bot, "ann")
    remove_all(store, RecordsOfBot(placeholder).remove)
    assert len(files(tmp_path)) == 2
    done = arena("bot", "delete", placeholder, "--records")
    assert (done.code, done.out.splitlines()[-1]) == (0, "0 records of its matches removed")
    assert files(tmp_path) == []


def test_a_file_that_is_missing_keeps_no_record_in_another_one(
    store: Store, tmp_path: Path, arena: Callable[..., Done]
) -> None:
    library = Library(store, "others")
    for number in range(2):
        library.play("nim", [BOB, ANN._replace(name="cid")], match=f"of-others-{number}", rated=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archiving, "MAX_RECORDS_PER_FILE", 4)
        move_all(store, OldRecordFilter(until="9"), tmp_path / "archive")
    first, second = files(tmp_path)
    first.rename(tmp_path / "away")
    alter(store.database, "UPDATE matches SET archive = 1 WHERE id = 'of-others-0'")
    done = arena("bot", "delete", "ann", "--records")
    assert done.code == 1
    assert done.out.endswith(" records of its matches removed\n")
    again = "`arena bot delete deleted-1 --records` tries again"
    assert done.err == f"arena: files keep records that were removed: the file {first} is missing; {again}\n"
    (left,) = files(tmp_path)
    assert left != second
    assert [match for match, _ in archive_file.read_archive(left, ["of-others-1", "friendly-5"])] == ["of-others-1"]


async def test_they_are_moved_beside_a_running_server_which_then_takes_those_of_a_bot_out(
    serve: Any, tmp_path: Path
) -> None:
    served = await serve()
    Library(served.store).play("nim", [ANN, BOB], match="old", rated=False)
    before = bodies(served.store)
    with closing(Store.open(served.data / "arena.db", checkpoint=False)) as store:
        done = await asyncio.to_thread(move_all, store, OldRecordFilter(until="9"), tmp_path / "archive")
    assert (done.records, done.files) == (1, 1)
    assert moved(served.store) == {"old"}
    assert bodies(served.store) == before
    (whole,) = files(tmp_path)
    whole.rename(tmp_path / "away")
    whole.mkdir()
    done = await served.perform(Delete(name=ANN.name, records=True))
    assert (done.records, done.kept) == (1, f"{whole} can't be removed: Is a directory")
    whole.rmdir()
    (tmp_path / "away").rename(whole)
    done = await served.perform(Delete(name=done.placeholder, records=True))
    assert (done.records, done.kept) == (0, None)
    assert files(tmp_path) == []


@SQLITE_ALONE
def test_nodes_of_one_database_are_asked_for_a_folder_that_all_have(tmp_path: Path) -> None:
    url = new_database()
    with closing(Store.open(url)) as store:
        Library(store).play("nim", [ANN, BOB], match="old", rated=False)
        nodes = "('a', 'ws://a', '2026-11-26'), ('b', 'ws://b', '2026-11-26'), ('stopped', 'ws://c', NULL)"
        insert = f"INSERT INTO nodes (name, url, seen) VALUES {nodes}"
        store.write(lambda connection: connection.exec_driver_sql(insert).rowcount)
        words = ("db", "thin", "--older", "1d")
        asked = partial(call, "arena", ARENA_DB=url, ARENA_DATA=str(tmp_path))
        done = asked(*words)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("arena: a, b share this database: give a folder with --to that all nodes and all ")
        assert asked(*words, "--to", str(tmp_path / "shared")).code == 0
        assert asked("replay", "verify", "old").code == 0


@SQLITE_ALONE
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--older", "90"), "--older is '90': it must be days or weeks, like 90d or 12w, from 1d to 36500d"),
        (("--older", "0d"), "--older is '0d': it must be days or weeks, like 90d or 12w, from 1d to 36500d"),
        (("--rated",), "--rated and --to say what --older moves, and where to: --older is missing"),
        (
            ("--older", "90d", "--keep-rated-records", "3"),
            "--older moves records to files, --keep-… and --max-… remove them: one after the other",
        ),
    ],
)
def test_wrong_words_are_one_line(arena: Callable[..., Done], words: tuple[str, ...], told: str) -> None:
    assert arena("db", "thin", *words) == (2, "", f"arena: {told}\n")


@SQLITE_ALONE
def test_a_folder_that_cannot_be_written_is_one_line(store: Store, tmp_path: Path, arena: Callable[..., Done]) -> None:
    (tmp_path / "file").touch()
    done = arena("db", "thin", "--older", "1d", "--to", str(tmp_path / "file" / "in"))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"arena: the folder {tmp_path}/file/in can't be used: ")
    assert done.err.count("\n") == 1
    assert moved(store) == set()
    assert json.loads(arena("matches", "--json").out)
