"""Backups of a database in use. A backup is one complete, checked file, or it does not exist. The archive files that
the backup needs are copied beside it, unless they are already there.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import NamedTuple

from arena.store.data_folder import FILE_MODE, FOLDER_MODE, private_umask
from arena.store.database import Database, StoreError
from arena.store.postgres_database import PostgresDatabase
from arena.store.sqlite_database import BUSY_TIMEOUT_MS, SQLITE_HEADER_BYTES, is_ours, read_only_uri
from machine.atomic_write import file_lock, flush_to_disk, replacing_file
from protocol.errors import ArenaFault, UsageFault

_NEEDED_ARCHIVES = """SELECT path FROM archives WHERE EXISTS (SELECT 1 FROM matches WHERE archive = archives.number)
    ORDER BY number"""


class Backup(NamedTuple):
    """The outcome of a backup. Of the archive files that the backup needs, `files` lie beside the backup, `elsewhere`
    are at absolute paths outside its folder, and `missing` were not found.
    """

    matches: int
    files: list[Path]
    elsewhere: list[Path]
    missing: list[Path]


def back_up(source: Database, to: Path) -> Backup:
    """Copy an arena's database, of any schema revision, to a new file that only its owner can read.

    Raise `UsageFault` if the file exists or the source is PostgreSQL; `DatabaseNotFound`, `UnrecognizedDatabase` or
    `SchemaMismatch` if the source is no arena of a known version; and `StoreError` or `ArenaFault` if copying fails.
    """
    if isinstance(source, PostgresDatabase):
        raise UsageFault(source.backup_advice(to))
    assert source.file is not None
    here, there = source.file.absolute().parent, to.absolute().parent
    if source.revision(read_only=True) is None:
        raise source.not_found_error()
    try:
        with file_lock(to), replacing_file(to) as part:
            _remove_cut_off(part.parent)
            if to.exists():
                raise UsageFault(f"{to} already exists and is not overwritten: choose another name")
            part.unlink(missing_ok=True)  # left by an interrupted backup to this path
            part.touch(mode=FILE_MODE, exist_ok=False)
            for _ in range(2):
                matches = _copy(source.file, part)
                needed = archives_of(part)
                files = [one for one in needed if _copy_archive(here, there, one)]
                if set(needed) <= {*files, *archives_of(source.file)}:
                    break  # otherwise a file was replaced after the database was copied
            flush_to_disk(part)
        flush_to_disk(to.parent)
    except sqlite3.Error as exc:
        raise StoreError(f"{source} can't be copied to {to}: {exc}") from exc
    except BlockingIOError as exc:
        raise UsageFault(f"{to} is being written by another backup: choose another name") from exc
    except OSError as exc:
        raise ArenaFault(f"{to} can't be written: {exc.strerror}") from exc
    elsewhere = [one for one in needed if one.is_absolute() and one.is_file()]
    return Backup(matches, files, elsewhere, [here / one for one in needed if one not in files + elsewhere])


def remove_copy(copy: Path) -> None:
    """Remove a backup, and first the archive files that no other backup in its folder needs. The archive files stay if
    another backup is being written to the folder or cannot be read. Raise `OSError` if the backup cannot be removed.
    """
    folder = copy.parent
    with contextlib.suppress(sqlite3.Error, OSError):
        if not any(folder.glob("*.part")):
            others = [one for one in folder.iterdir() if one != copy and _is_copy(one)]
            needed = {file for one in others for file in archives_of(one)}
            for file in archives_of(copy):
                if not _leads_out(file) and file not in needed:
                    (folder / file).unlink(missing_ok=True)
    copy.unlink()


def archives_of(file: Path) -> list[Path]:
    """Return the stored paths of the archive files that a SQLite file needs. Raise `sqlite3.Error` if this fails."""
    with contextlib.closing(sqlite3.connect(read_only_uri(file), uri=True)) as opened:
        opened.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        return [Path(path) for (path,) in opened.execute(_NEEDED_ARCHIVES)]


def _leads_out(file: Path) -> bool:
    """Return whether a stored path leads out of the folder of its database. No arena stores one with `..`."""
    return file.is_absolute() or ".." in file.parts


def _copy_archive(source: Path, to: Path, file: Path) -> bool:
    """Copy an archive file to another folder, unless that folder has a file with its name. Equal names mean equal
    content. Return False if `file` leads out of its folder or is missing in the source folder, otherwise True.
    """
    if _leads_out(file):
        return False
    if (to / file).exists():
        return True
    with contextlib.suppress(FileNotFoundError), private_umask(), (source / file).open("rb") as opened:
        (to / file).parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        with replacing_file(to / file) as part:
            with part.open("wb") as copy:
                shutil.copyfileobj(opened, copy)
            flush_to_disk(part)
        flush_to_disk((to / file).parent)
        return True
    return False


def _remove_cut_off(folder: Path) -> None:
    """Remove the partial backups of killed processes. These have lock files on which no process holds a lock."""
    for lock in folder.glob("*.lock"):
        place = lock.with_suffix("")
        part = place.with_name(f"{place.name}.part")
        with contextlib.suppress(OSError):  # another backup holds the lock, or the file is not from a backup
            if lock.stat().st_size == 0 and _may_be_copy(part):
                with file_lock(place):
                    part.with_name(f"{part.name}-journal").unlink(missing_ok=True)
                    part.unlink()


def _may_be_copy(part: Path) -> bool:
    """Return whether a file is an arena's database or is blank, as a partial backup is. Raise `OSError` on failure."""
    header = _header(part)
    return not header.strip(b"\0") or is_ours(header)


def _is_copy(path: Path) -> bool:
    """Return whether an arena's database is in a file at this path. Raise `OSError` if the file cannot be read."""
    return path.is_file() and is_ours(_header(path))


def _header(path: Path) -> bytes:
    with path.open("rb") as opened:
        return opened.read(SQLITE_HEADER_BYTES)


def _copy(source: Path, part: Path) -> int:
    with (
        contextlib.closing(sqlite3.connect(read_only_uri(source), uri=True)) as original,
        contextlib.closing(sqlite3.connect(part, isolation_level=None)) as copy,
    ):
        original.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        original.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # so that a single file is the whole backup
        found = [row[0] for row in copy.execute("PRAGMA integrity_check")]
        if found != ["ok"]:
            raise StoreError(f"{source} is damaged, and was not copied: {found[0]}")
        return int(copy.execute("SELECT count(*) FROM matches").fetchone()[0])
