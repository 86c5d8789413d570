"""The commit log of the journals. One sync writes what all matches recorded in the same moment (group commit).

The journals are written too, but only synced when the log is full. After a crash they are repaired from the log.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec

from machine.atomic_write import flush_to_disk

SEGMENT_BYTES = 4 * 1024 * 1024
"""The size in bytes at which a log file is full. There are two log files. When one is full, the log continues in the
other, and the journals with entries in the full one are synced.
"""
_SEGMENT_NAMES = ("commits-0", "commits-1")
"""The names of the two log files."""
_GROUP_HEADER = struct.Struct("<QII")
"""The format of the header of a group of entries: the group's number, and the size and CRC-32 of its payload."""

log = logging.getLogger("arena.host.commit_log")


class JournalEntry(NamedTuple):
    """Data that was appended to a match's journal, and its offset in the journal."""

    match: str
    offset: int
    data: bytes


_Group = tuple[int, list[JournalEntry]]
"""A group of entries that were synced together: its number, and the entries."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[JournalEntry]).decode


class CommitLog:
    """The commit log in a folder of journals: two log files, which are used alternately. Existing log files are
    emptied, so call `restore_journals` first.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._next_group_number = 0
        self._size = 0
        self._matches: set[str] = set()
        """The matches with entries in the current log file."""
        self._files = [os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600) for name in _SEGMENT_NAMES]
        self._current = 0
        self._other_matches: set[str] = set()
        """The matches with entries in the other log file, until that file is empty."""
        self._check_at_bytes = SEGMENT_BYTES
        """The size of the current log file, in bytes, at which the log switches to the other file. If the other file is
        not empty by then, another attempt is made to empty it, and this size is raised by `SEGMENT_BYTES`.
        """
        self._emptying_thread: threading.Thread | None = None
        self._lock = threading.Lock()
        flush_to_disk(folder)

    def commit(self, entries: Sequence[JournalEntry]) -> None:
        """Write all entries to disk; if that fails, write none and raise `OSError`. Blocks; any thread may call it."""
        with self._lock:
            self._commit(entries)
            if self._size >= self._check_at_bytes and (
                self._emptying_thread is None or not self._emptying_thread.is_alive()
            ):
                self._start_emptying()

    def _commit(self, entries: Sequence[JournalEntry]) -> None:
        payload = _encode(entries)
        group = _GROUP_HEADER.pack(self._next_group_number, len(payload), zlib.crc32(payload)) + payload
        file = self._files[self._current]
        try:
            _write_at(file, group, self._size)
            os.fdatasync(file)
        except OSError:
            with contextlib.suppress(OSError):  # the next group is written over it
                os.ftruncate(file, self._size)
            raise
        self._next_group_number += 1
        self._size += len(group)
        self._matches.update(entry.match for entry in entries)

    def _start_emptying(self) -> None:
        """Start a thread that empties a log file. If the other file is empty, switch to it, and empty the file used
        until now. If it is not, an earlier attempt to empty it has failed, so try that again.
        """
        again = bool(self._other_matches)
        which = 1 - self._current if again else self._current
        thread = threading.Thread(target=self._empty, args=(which, self._other_matches or self._matches, again))
        try:
            thread.start()
        except RuntimeError:  # the system has no more threads
            self._check_at_bytes += SEGMENT_BYTES
            return
        self._emptying_thread = thread
        if again:
            self._check_at_bytes += SEGMENT_BYTES
        else:
            self._other_matches, self._matches = self._matches, set()
            self._current, self._size, self._check_at_bytes = 1 - self._current, 0, SEGMENT_BYTES

    def _empty(self, index: int, matches: Iterable[str], rewrite: bool) -> None:
        """Sync the journals of `matches`, then empty the log file `index`, whose entries are then no longer needed.

        After a failed sync, the disk may have dropped data of the journals. So with `rewrite`, the entries are first
        written to the journals again.
        """
        try:
            if rewrite:
                _write_entries(self._folder, _entries_by_match(_read_groups(self._folder / _SEGMENT_NAMES[index])))
            self._sync_journals(matches)
            os.ftruncate(self._files[index], 0)
            os.fdatasync(self._files[index])  # it must not reappear after the other log is gone
        except OSError as exc:  # its groups stay, and the current log grows
            log.warning(
                "the journals in the commit log %s can't be synced: %s",
                self._folder / _SEGMENT_NAMES[index],
                exc.strerror,
            )
        else:
            self._other_matches = set()

    def _sync_journals(self, matches: Iterable[str]) -> None:
        for match in matches:
            with contextlib.suppress(FileNotFoundError):  # the match has ended
                flush_to_disk(journal_path(self._folder, match))

    def close(self) -> None:
        """Sync all journals, then remove the log files, which are no longer needed."""
        if self._emptying_thread is not None:
            self._emptying_thread.join()
        try:
            self._sync_journals(self._matches | self._other_matches)
            _remove_logs(
                self._folder,
                [self._folder / _SEGMENT_NAMES[1 - self._current], self._folder / _SEGMENT_NAMES[self._current]],
            )
        except OSError as exc:
            log.warning("the journals in %s can't be synced: %s; their commit log stays", self._folder, exc.strerror)
        for file in self._files:
            os.close(file)


def restore_journals(folder: Path) -> None:
    """Restore the journals in a folder from its log files, and remove the log files. Raise `OSError` if that fails.

    Data in a journal beyond its last entry in the log was never synced, and never sent to a client. It is cut off. If a
    journal is missing, its match was finished, so its entries are skipped.
    """
    logs = {path: list(_read_groups(path)) for path in (folder / name for name in _SEGMENT_NAMES) if path.exists()}
    _write_entries(folder, _entries_by_match(chain.from_iterable(logs.values())), truncate=True)
    _remove_logs(folder, sorted(logs, key=lambda path: logs[path][:1]))


def _remove_logs(folder: Path, paths: Iterable[Path]) -> None:
    """Remove log files in the given order, which must be oldest first. If only the older one were left after a crash,
    the next start would set the journals back to an older state.
    """
    for path in paths:
        path.unlink(missing_ok=True)
        flush_to_disk(folder)


def _entries_by_match(groups: Iterable[_Group]) -> dict[str, list[JournalEntry]]:
    """Return the logged entries by match. If a match's journal was started again, leave out earlier entries."""
    found: dict[str, list[JournalEntry]] = {}
    for _, entries in sorted(groups):
        for entry in entries:
            if entry.offset == 0:  # the journal was started again
                found[entry.match] = []
            found.setdefault(entry.match, []).append(entry)
    return found


def _read_groups(path: Path) -> Iterator[_Group]:
    """Yield the complete groups of entries in a log file, with their numbers."""
    data, at = path.read_bytes(), 0
    while at + _GROUP_HEADER.size <= len(data):
        number, size, check = _GROUP_HEADER.unpack_from(data, at)
        payload = data[at + _GROUP_HEADER.size : at + _GROUP_HEADER.size + size]
        if not size or len(payload) < size or zlib.crc32(payload) != check:
            return
        yield number, _decode(payload)
        at += _GROUP_HEADER.size + size


def _write_entries(folder: Path, entries: dict[str, list[JournalEntry]], *, truncate: bool = False) -> None:
    """Write logged entries to their journals, and sync the journals. With `truncate`, cut each journal off after its
    last entry. Raise `OSError` if that fails.
    """
    for match, of_it in entries.items():
        path = journal_path(folder, match)
        try:
            file = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            continue
        except (PermissionError, IsADirectoryError) as exc:
            log.warning("%s can't be restored from the commit log and stays unchanged: %s", path, exc.strerror)
            continue
        try:
            for entry in of_it:
                _write_at(file, entry.data, entry.offset)
            if truncate:
                os.ftruncate(file, of_it[-1].offset + len(of_it[-1].data))
            os.fdatasync(file)
        finally:
            os.close(file)


def _write_at(file: int, data: bytes, offset: int) -> None:
    if os.pwrite(file, data, offset) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def journal_path(folder: Path, match: str) -> Path:
    return folder / f"{match}.jsonl"
