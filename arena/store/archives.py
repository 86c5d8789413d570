"""The table of archive files in the database: their paths, and how to read records from them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection

from arena.store.archive_file import ArchiveMissing, read_archive
from arena.store.dialect import execute, is_postgresql
from arena.store.rows import read_row

_LIST_ARCHIVES = """SELECT number, path, records, bytes,
    (SELECT count(*) FROM matches WHERE archive = archives.number) AS held FROM archives ORDER BY number"""
_PATH_OF_ARCHIVE = "SELECT path FROM archives WHERE number = :number"
_INSERT_PLANNED_ARCHIVE = (
    "INSERT INTO archives (path, records, bytes) VALUES (:path, :records, 0) ON CONFLICT (path) DO NOTHING"
)
"""The statement that adds an archive file before it is written, with 0 bytes."""
_UPSERT_ARCHIVE = """INSERT INTO archives (path, records, bytes) VALUES (:path, :records, :bytes)
    ON CONFLICT (path) DO UPDATE SET records = excluded.records, bytes = excluded.bytes"""
_SQLITE_FILE_PATH = "SELECT file FROM pragma_database_list WHERE name = 'main'"
_NUMBER_OF_ARCHIVE_PATH = "SELECT number FROM archives WHERE path = :path"
_REASSIGN_MATCHES = "UPDATE matches SET archive = :new WHERE archive = :old"
_DELETE_UNUSED_ARCHIVE = """DELETE FROM archives WHERE number = :number
    AND NOT EXISTS (SELECT 1 FROM matches WHERE archive = archives.number)"""


class Archive(NamedTuple):
    """An archive file. `held` counts the matches that refer to it; `records` also counts records that were removed."""

    number: int
    path: Path
    records: int
    bytes: int
    held: int


def all_archives(connection: Connection) -> list[Archive]:
    """Return all archive files that the database knows, even files that are not written yet or not removed yet."""
    folder = _base_folder(connection)
    return [read_row(Archive, row, path=folder / row.path) for row in execute(connection, _LIST_ARCHIVES)]


def needed_archives(connection: Connection) -> list[Archive]:
    """Return the archive files that must exist, because a match refers to them for its record."""
    return [one for one in all_archives(connection) if one.held]


def read_archived(connection: Connection, archive: int, matches: Collection[str]) -> dict[str, bytes]:
    """Return those records of `matches` that are in an archive file, compressed with gzip, by match id. Raise
    `ArchiveMissing` if the file is missing, `BadRecord` if it is damaged, and `ArenaFault` if it cannot be read.
    """
    path = execute(connection, _PATH_OF_ARCHIVE, {"number": archive}).scalar_one_or_none()
    if path is None:
        raise ArchiveMissing(f"file number {archive} of old records is unknown")
    return dict(read_archive(_base_folder(connection) / path, matches))


def read_all_archived(connection: Connection, archives: Mapping[str, int]) -> dict[str, bytes]:
    """Return the gzip records of matches in one or more archive files, by match id. `archives` has the number of each
    match's file, also by match id. Missing files are skipped.
    """
    found: dict[str, bytes] = {}
    for archive in sorted(set(archives.values())):
        with contextlib.suppress(ArchiveMissing):
            found |= read_archived(connection, archive, [match for match in archives if archives[match] == archive])
    return found


def register_planned_archive(connection: Connection, path: Path, records: int) -> None:
    """Register an archive file in the database before it is written. So the database knows every file that exists."""
    execute(connection, _INSERT_PLANNED_ARCHIVE, {"path": _stored_path(connection, path), "records": records})


def register_archive(connection: Connection, path: Path, records: int, size_bytes: int) -> int:
    """Register or update an archive file in the database, with its records and bytes. Return the file's number."""
    noted = _stored_path(connection, path)
    execute(connection, _UPSERT_ARCHIVE, {"path": noted, "records": records, "bytes": size_bytes})
    return int(execute(connection, _NUMBER_OF_ARCHIVE_PATH, {"path": noted}).scalar_one())


def replace_archive(connection: Connection, old: int, path: Path, records: int, size: int) -> None:
    """Make the matches of an old archive file refer to a new one, so that `forget_archive` can remove the old one."""
    execute(connection, _REASSIGN_MATCHES, {"new": register_archive(connection, path, records, size), "old": old})


def forget_archive(connection: Connection, number: int) -> None:
    """Delete the row of a removed archive file, unless a match still refers to it."""
    execute(connection, _DELETE_UNUSED_ARCHIVE, {"number": number})


def make_paths_absolute(connection: Connection, folder: Path) -> None:
    """Make stored relative paths absolute. Use it when the database moves and its archive files stay in `folder`."""
    for row in execute(connection, "SELECT number, path FROM archives").all():
        words = {"number": row.number, "path": str(folder.absolute() / row.path)}
        execute(connection, "UPDATE archives SET path = :path WHERE number = :number", words)


def _base_folder(connection: Connection) -> Path:
    """Return the folder to which stored paths are relative: the SQLite file's. On PostgreSQL, it is the empty path."""
    if is_postgresql(connection):
        return Path()
    return Path(connection.exec_driver_sql(_SQLITE_FILE_PATH).scalar_one()).parent


def _stored_path(connection: Connection, path: Path) -> str:
    """Return a path in its stored form. It is relative if it is below the folder of the SQLite file, so that both can
    move together. All other paths are absolute.
    """
    folder = _base_folder(connection)
    with contextlib.suppress(ValueError):
        if not is_postgresql(connection):
            return str(path.resolve().relative_to(folder.resolve()))
    return str(path.absolute())
