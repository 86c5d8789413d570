"""The commit log of the journals: what all matches of a moment recorded, on disk by one sync (group commit).

The journals themselves are written as well, and synced later, when the log is full. What a crash of the machine left
of them is mended from the log at the next start.
"""

from __future__ import annotations

import contextlib
import logging
import os
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

FULL = 4 * 1024 * 1024
"""Bytes of a log after which the other one is taken, and the journals in this one are synced."""
_NAMES = ("commits-0", "commits-1")
_HEAD = struct.Struct("<QII")
"""Of a group: its number, and the size and CRC-32 of what follows."""

log = logging.getLogger("arena.host.commit_log")


class Entry(NamedTuple):
    """What was added to the journal of a match, and where."""

    match: str
    at: int
    data: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Entry]).decode


class CommitLog:
    """The two logs in a folder of journals, taken in turn. A log that is there already was to be mended from before."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._size = 0
        self._matches: set[str] = set()
        """Those in the present log."""
        self._files = [os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600) for name in _NAMES]
        self._at = 0
        self._other_is_empty = True
        self._emptying: threading.Thread | None = None
        self._lock = threading.Lock()
        sync_folder(folder)

    def commit(self, entries: Sequence[Entry]) -> None:
        """Have these on disk, all or none. Raises `OSError`; then none is. It waits for the disk, in any thread."""
        with self._lock:
            self._commit(entries)
            if self._size >= FULL and self._other_is_empty:
                self._other_is_empty = False
                self._emptying = threading.Thread(target=self._empty, args=(self._at, self._matches))
                self._emptying.start()
                self._at, self._size, self._matches = 1 - self._at, 0, set()

    def _commit(self, entries: Sequence[Entry]) -> None:
        payload = _encode(entries)
        group = _HEAD.pack(self._number, len(payload), zlib.crc32(payload)) + payload
        try:
            written = os.pwrite(self._files[self._at], group, self._size)
            if written != len(group):
                raise OSError(0, f"{written} of {len(group)} bytes were taken: is the disk full?")
            os.fdatasync(self._files[self._at])
        except OSError:
            with contextlib.suppress(OSError):  # the next group is written over it
                os.ftruncate(self._files[self._at], self._size)
            raise
        self._number += 1
        self._size += written
        self._matches.update(entry.match for entry in entries)

    def close(self) -> None:
        """Let go of the files. The logs stay: what is in them was not synced elsewhere."""
        if self._emptying is not None:
            self._emptying.join()
        for file in self._files:
            os.close(file)

    def _empty(self, which: int, matches: Iterable[str]) -> None:
        """Have the journals of these matches on disk themselves: a log is no longer needed."""
        try:
            for match in matches:
                _sync(journal_path(self._folder, match))
            os.ftruncate(self._files[which], 0)
            self._other_is_empty = True
        except OSError as exc:  # its groups stay, and the present log grows
            log.warning("the journals in %s can't be synced: %s", self._folder / _NAMES[which], exc.strerror)


def mend(folder: Path) -> None:
    """Bring the journals in a folder to where its logs say they were, and remove the logs. Raises `OSError`.

    What a journal has beyond that was never synced: nobody was told of it, and it is cut off. Journals that are gone
    were of matches that are over.
    """
    paths = [path for path in (folder / name for name in _NAMES) if path.exists()]
    found: dict[str, list[Entry]] = {}
    for _, entries in sorted((group for path in paths for group in _groups(path)), key=lambda group: group[0]):
        for entry in entries:
            if entry.at == 0:  # a journal that began again
                found[entry.match] = []
            found.setdefault(entry.match, []).append(entry)
    for match, entries in found.items():
        with contextlib.suppress(FileNotFoundError):
            _mend(journal_path(folder, match), entries)
    for path in paths:
        path.unlink()
    if paths:
        sync_folder(folder)


def _groups(path: Path) -> Iterator[tuple[int, list[Entry]]]:
    """The groups in a log that are whole, with their numbers."""
    data, at = path.read_bytes(), 0
    while at + _HEAD.size <= len(data):
        number, size, check = _HEAD.unpack_from(data, at)
        payload = data[at + _HEAD.size : at + _HEAD.size + size]
        if len(payload) < size or zlib.crc32(payload) != check:
            return
        yield number, _decode(payload)
        at += _HEAD.size + size


def _mend(path: Path, entries: Sequence[Entry]) -> None:
    file = os.open(path, os.O_RDWR)
    try:
        for entry in entries:
            os.pwrite(file, entry.data, entry.at)
        os.ftruncate(file, entries[-1].at + len(entries[-1].data))
        os.fdatasync(file)
    finally:
        os.close(file)


def _sync(path: Path) -> None:
    """Have a file on disk; one that is gone need not be."""
    with contextlib.suppress(FileNotFoundError):
        file = os.open(path, os.O_RDONLY)
        try:
            os.fdatasync(file)
        finally:
            os.close(file)


def sync_folder(folder: Path) -> None:
    """Have the names of the files in it on disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def journal_path(folder: Path, match: str) -> Path:
    """The journal of a match."""
    return folder / f"{match}.jsonl"
