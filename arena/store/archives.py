"""The files that records of old matches were moved to, as the database knows them: where they are, and what is read."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection

from arena.store.archive_file import ArchiveMissing, read_archive
from arena.store.dialect import execute, is_postgresql

_FILES = """SELECT number, path, records, bytes,
    (SELECT count(*) FROM matches WHERE archive = archives.number) AS held FROM archives ORDER BY number"""
_PATH = "SELECT path FROM archives WHERE number = :number"
_ANNOUNCE = "INSERT INTO archives (path, records, bytes) VALUES (:path, :records, 0) ON CONFLICT (path) DO NOTHING"
_NOTE = """INSERT INTO archives (path, records, bytes) VALUES (:path, :records, :bytes)
    ON CONFLICT (path) DO UPDATE SET records = excluded.records, bytes = excluded.bytes"""
_FILE = "SELECT file FROM pragma_database_list WHERE name = 'main'"
_NUMBER = "SELECT number FROM archives WHERE path = :path"
_REPLACE = "UPDATE matches SET archive = :new WHERE archive = :old"
_FORGET = """DELETE FROM archives WHERE number = :number
    AND NOT EXISTS (SELECT 1 FROM matches WHERE archive = archives.number)"""


class Archive(NamedTuple):
    """A file of records: its number, where it is, how many records and bytes it has, and of how many matches here."""

    number: int
    path: Path
    records: int
    bytes: int
    held: int


def all_archives(connection: Connection) -> list[Archive]:
    """The files that there may be: also such as are not written yet, or not removed."""
    folder = _folder(connection)
    return [
        Archive(row.number, folder / row.path, row.records, row.bytes, row.held) for row in execute(connection, _FILES)
    ]


def needed_archives(connection: Connection) -> list[Archive]:
    """The files that there should be, for a match has its record there."""
    return [one for one in all_archives(connection) if one.held]


def read_moved(connection: Connection, archive: int, matches: Collection[str]) -> dict[str, bytes]:
    """The records (gzip) of matches that are in a file, by their ids.

    Raises `ArchiveMissing`, `BadRecord` where it is damaged, and `ArenaFault`.
    """
    path = execute(connection, _PATH, {"number": archive}).scalar_one_or_none()
    if path is None:
        raise ArchiveMissing(f"file number {archive} of old records is unknown")
    return dict(read_archive(_folder(connection) / path, matches))


def read_all_moved(connection: Connection, archives: Mapping[str, int]) -> dict[str, bytes]:
    """The same of matches that are in several files, given which each is in; without those whose file is missing."""
    found: dict[str, bytes] = {}
    for archive in sorted(set(archives.values())):
        with contextlib.suppress(ArchiveMissing):
            found |= read_moved(connection, archive, [match for match in archives if archives[match] == archive])
    return found


def announce_archive(connection: Connection, path: Path, records: int) -> None:
    """Note a file that is about to be written, of so many records, so that none is there which nobody knows."""
    execute(connection, _ANNOUNCE, {"path": _noted(connection, path), "records": records})


def note_archive(connection: Connection, path: Path, records: int, size: int) -> int:
    """Note a file of so many records and bytes, if it is new; its number."""
    noted = _noted(connection, path)
    execute(connection, _NOTE, {"path": noted, "records": records, "bytes": size})
    return int(execute(connection, _NUMBER, {"path": noted}).scalar_one())


def replace_archive(connection: Connection, old: int, path: Path, records: int, size: int) -> None:
    """Have the records of a file be in another one from now on; the old one is known until `forget_archive`."""
    execute(connection, _REPLACE, {"new": note_archive(connection, path, records, size), "old": old})


def forget_archive(connection: Connection, number: int) -> None:
    """Know no more of a file that is gone, unless it has the record of a match."""
    execute(connection, _FORGET, {"number": number})


def put_elsewhere(connection: Connection, folder: Path) -> None:
    """Have paths that are relative be such of another folder: that in which the files stayed."""
    for row in execute(connection, "SELECT number, path FROM archives").all():
        words = {"number": row.number, "path": str(folder.absolute() / row.path)}
        execute(connection, "UPDATE archives SET path = :path WHERE number = :number", words)


def _folder(connection: Connection) -> Path:
    """That in which files are whose paths are relative: the database's own, where that is a file."""
    if is_postgresql(connection):
        return Path()
    return Path(connection.exec_driver_sql(_FILE).scalar_one()).parent


def _noted(connection: Connection, path: Path) -> str:
    """A path as the database has it: as seen from its own file if it is below, so that both can be moved."""
    folder = _folder(connection)
    with contextlib.suppress(ValueError):
        if not is_postgresql(connection):
            return str(path.resolve().relative_to(folder.resolve()))
    return str(path.absolute())
