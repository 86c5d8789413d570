"""Moving old records from the database into archive files, where they stay readable. Records of tournaments are not
moved.

A file is complete and synced before the database drops a record, so a crash never loses one. The database registers a
file before the file exists and until it is removed, so there are no files that it does not know.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from arena.store.archive_file import (
    NewArchive,
    OldRecord,
    batches,
    lock_archives,
    plan_archive,
    read_archive,
    remove_archive,
    write_archive,
)
from arena.store.archives import (
    Archive,
    all_archives,
    forget_archive,
    register_archive,
    register_planned_archive,
    replace_archive,
)
from arena.store.database import Database
from arena.store.dialect import execute
from arena.store.match_numbers import IN_NUMBERS_SQL, numbers_parameter
from arena.store.store import Store
from arena.store.thinning import MAX_BYTES_PER_TRANSACTION, MAX_RECORDS_PER_TRANSACTION
from protocol.errors import ArenaFault

ARCHIVE_FOLDER = "archive"
"""The name of the folder for archive files. It is beside the SQLite file or in the data folder."""
MAX_RECORDS_PER_FILE, MAX_BYTES_PER_FILE = 1024, 4 * 1024 * 1024
"""`MAX_RECORDS_PER_FILE` is the maximum number of records in an archive file. `MAX_BYTES_PER_FILE` is the maximum total
size of its records, as the database stores them. A single record may be larger.
"""

_FROM_OLD_MATCHES_SQL = """FROM matches WHERE record_bytes IS NOT NULL AND tournament IS NULL
    AND (coalesce(pool, annulled) IS NULL) = :unrated AND finished <= :until
    AND (:all = 1 OR EXISTS (
        SELECT 1 FROM seats JOIN bots ON bots.id = seats.bot WHERE seats.match = matches.number
            AND bots.key IN (SELECT value FROM {each:house} AS told)
    ))"""
"""The part of a query that selects the matches whose records may be archived. They finished by :until, and a bot in
:house played in them unless :all is 1.
"""
_COUNT_OLD_RECORDS_SQL = f"SELECT count(*) AS records, coalesce(sum(record_bytes), 0) AS bytes {_FROM_OLD_MATCHES_SQL}"
_NEXT_RECORDS_SQL = f"""SELECT number, id, finished, record_bytes {_FROM_OLD_MATCHES_SQL}
    AND (finished, number) > (:finished, :number)
    ORDER BY finished, number LIMIT :most"""
_SELECT_RECORDS_SQL = f"SELECT match, data FROM records WHERE match {IN_NUMBERS_SQL}"
_DELETE_RECORDS_SQL = f"DELETE FROM records WHERE match {IN_NUMBERS_SQL}"
_MARK_ARCHIVED_SQL = f"UPDATE matches SET record_bytes = NULL, archive = :archive WHERE number {IN_NUMBERS_SQL}"
_MATCHES_IN_FILE_SQL = "SELECT number, id FROM matches WHERE archive = :archive"


class OldRecordFilter(Struct, frozen=True, kw_only=True):
    """A filter for the records that may be archived, of matches that ended by `until`. It takes all unrated matches,
    and the rated matches in which a bot of `house` (folded names) played. If `rated` is true, it takes all rated
    matches.
    """

    until: str
    house: tuple[str, ...] = ()
    rated: bool = False


class ScanPosition(NamedTuple):
    """A position in the scan for old records, which visits unrated, then rated matches, each by end time and number."""

    unrated: bool = True
    finished: str = ""
    number: int = 0


class ArchivingTotals(Struct, frozen=True, kw_only=True):
    """The totals of an archiving run: records moved, their bytes in the database, files written, and bytes of files."""

    records: int = 0
    bytes: int = 0
    files: int = 0
    file_bytes: int = 0

    def __add__(self, other: ArchivingTotals) -> ArchivingTotals:
        return ArchivingTotals(
            records=self.records + other.records,
            bytes=self.bytes + other.bytes,
            files=self.files + other.files,
            file_bytes=self.file_bytes + other.file_bytes,
        )


def count_old_records(connection: Connection, old: OldRecordFilter) -> ArchivingTotals:
    """Count the records that match a filter of old records, and their bytes in the database."""
    found = [
        execute(connection, _COUNT_OLD_RECORDS_SQL, _query_parameters(old, unrated)).one() for unrated in (True, False)
    ]
    return ArchivingTotals(records=sum(row.records for row in found), bytes=sum(int(row.bytes) for row in found))


def next_old_records(
    connection: Connection, old: OldRecordFilter, position: ScanPosition
) -> tuple[list[OldRecord], ScanPosition]:
    """Return the next old records for one archive file, and the position after them. At the end, return no records."""
    for unrated in (True, False) if position.unrated else (False,):
        place = position if unrated == position.unrated else ScanPosition(unrated)
        asked = {
            **_query_parameters(old, unrated),
            "finished": place.finished,
            "number": place.number,
            "most": MAX_RECORDS_PER_FILE,
        }
        rows = execute(connection, _NEXT_RECORDS_SQL, asked).all()
        taken = next(batches(rows, lambda row: row.record_bytes, MAX_BYTES_PER_FILE, MAX_RECORDS_PER_FILE), [])
        if taken:
            ids = {row.number: row.id for row in taken}
            stored = execute(connection, _SELECT_RECORDS_SQL, numbers_parameter(ids))
            data = {row.match: row.data for row in stored}
            found = [OldRecord(number, ids[number], data[number]) for number in sorted(ids) if number in data]
            return found, ScanPosition(unrated, taken[-1].finished, taken[-1].number)
    return [], position


def move_records(
    connection: Connection, path: Path, file_counts: tuple[int, int], written: Sequence[OldRecord]
) -> ArchivingTotals:
    """Assign records to an archive file and delete them from the database, except records that changed after they were
    read. `file_counts` has the number of all records in the file and its size in bytes.
    """
    kept = {
        row.match: row.data
        for row in execute(connection, _SELECT_RECORDS_SQL, numbers_parameter(one.number for one in written))
    }
    same = [one for one in written if kept.get(one.number) == one.data]
    archive = register_archive(connection, path, *file_counts)
    numbers = numbers_parameter(one.number for one in same)
    execute(connection, _DELETE_RECORDS_SQL, numbers)
    execute(connection, _MARK_ARCHIVED_SQL, {**numbers, "archive": archive})
    return ArchivingTotals(records=len(same), bytes=sum(len(one.data) for one in same))


def move_all(
    store: Store, old: OldRecordFilter, folder: Path, on_transaction: Callable[[float], None] = lambda seconds: None
) -> ArchivingTotals:
    """Move all old records into archive files of a folder. Call `on_transaction` after each transaction with its
    duration in seconds. Raise `ArenaFault` if a file cannot be written; records that were moved before stay moved.
    """
    moved, place, before = ArchivingTotals(), ScanPosition(), None
    while place != before:
        before = place
        found, place = store.read(next_old_records, old, before)
        if found:
            with lock_archives(folder):
                new = plan_archive(folder, found)
                if new is not None:
                    store.write(register_planned_archive, new.path, len(new.records))
                    size = write_archive(new)
                    moved += ArchivingTotals(files=1, file_bytes=size)
                    for some in in_batches(new.records):
                        began = time.monotonic()
                        moved += store.write(move_records, new.path, (len(new.records), size), some)
                        on_transaction(time.monotonic() - began)
    return moved


def in_batches(written: Sequence[OldRecord]) -> Iterator[list[OldRecord]]:
    """Split records into batches, each small enough for one transaction."""
    return batches(written, lambda one: len(one.data), MAX_BYTES_PER_TRANSACTION, MAX_RECORDS_PER_TRANSACTION)


def purge_removed_records(store: Store) -> None:
    """Rewrite archive files that still contain removed records. Try all files, then raise the first `ArenaFault`."""
    faults: list[ArenaFault] = []
    for one in store.read(all_archives):
        if one.held != one.records:
            try:
                with lock_archives(one.path.parent):
                    new = plan_replacement(one, store.read(matches_in, one.number))
                    if new is not None:
                        store.write(register_planned_archive, new.path, len(new.records))
                        store.write(replace_archive, one.number, new.path, len(new.records), write_archive(new))
                    if new is None or new.path != one.path:
                        remove_archive(one.path)
                        store.write(forget_archive, one.number)
            except ArenaFault as fault:
                faults.append(fault)
    if faults:
        raise faults[0]


def matches_in(connection: Connection, archive: int) -> dict[str, int]:
    """Return a dict from match id to match number, for the matches whose records are in the archive file with number
    `archive`.
    """
    return {row.id: row.number for row in execute(connection, _MATCHES_IN_FILE_SQL, {"archive": archive})}


def plan_replacement(archive: Archive, kept: Mapping[str, int]) -> NewArchive | None:
    """Plan an archive file that replaces `archive`. It has only the records of `kept` (match numbers by match id).
    Return None if `kept` is empty. Raise `ArenaFault` if the old file lacks one of these records.
    """
    if not kept:
        return None
    held = [OldRecord(kept[match], match, data) for match, data in read_archive(archive.path, kept)]
    new = plan_archive(archive.path.parent, held)
    if new is None or len(new.records) != len(kept):
        found = 0 if new is None else len(new.records)
        raise ArenaFault(f"{archive.path} has only {found} of {len(kept)} records: it was left as it is")
    return new


def default_archive_folder(database: Database, data: Path) -> Path:
    """Return the default archive folder: beside a SQLite file, or in the data folder `data` for a server."""
    return (data if database.file is None else database.file.parent).absolute() / ARCHIVE_FOLDER


def _query_parameters(old: OldRecordFilter, unrated: bool) -> dict[str, object]:
    return {
        "unrated": unrated,
        "all": int(unrated or old.rated),
        "house": msgspec.json.encode(old.house).decode(),
        "until": old.until,
    }
