"""Archive files of old match records: ZIP files of blocks. A block has several records, compressed with xz.

The ZIP directory says which block holds which match, so reading one record decompresses one block. A file is named
after a digest of its content and never changed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import lzma
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from arena.store.data_folder import FILE_MODE, FOLDER_MODE, private_umask
from machine.atomic_write import file_lock, flush_to_disk, replacing_file
from protocol.errors import ArenaFault, BadRecord
from referee.record import compress_lines
from referee.record_reader import unpack

T = TypeVar("T")
BLOCK_BYTES, BLOCK_RECORDS = 256 * 1024, 256
"""`BLOCK_BYTES` is the maximum size of a block in bytes, `BLOCK_RECORDS` its maximum number of records. A block
decompresses in 4 ms. A record longer than `BLOCK_BYTES` has its own block.
"""
_COMPRESSION_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 4 * BLOCK_BYTES}]
"""The settings of xz. A larger dictionary would not help, and every block allocates one."""
ARCHIVE_SUFFIX = ".zip"
"""The suffix of archive files."""
_PARTIAL_PATTERN = f"*{ARCHIVE_SUFFIX}.part"
"""The pattern of the names of incomplete files, which a killed process leaves."""
_NAME_PATTERN = re.compile(rf"\d{{7,}}-\d+-[0-9a-f]{{16}}{re.escape(ARCHIVE_SUFFIX)}")
"""The pattern of the names of archive files, as `plan_archive` makes them."""
_BLOCK_DATE = (1980, 1, 1, 0, 0, 0)
"""The timestamp of every block in the ZIP. It is constant, so that equal records always make equal files."""


class ArchiveMissing(ArenaFault):
    """An archive file is missing."""


class OldRecord(NamedTuple):
    """A match record from the database, compressed with gzip, with the match's number and id."""

    number: int
    match: str
    data: bytes


class NewArchive(NamedTuple):
    """An archive file to be written: its path, its records, and by match id the lines of each record."""

    path: Path
    records: Sequence[OldRecord]
    texts: Mapping[str, bytes]


class ArchivesBusy(ArenaFault):
    """Another process is changing the archive files of a folder."""


@contextlib.contextmanager
def lock_archives(folder: Path) -> Iterator[None]:
    """Lock a folder for changes to its archive files and to their rows in the database. Create the folder if needed.
    Raise `ArchivesBusy` if another process holds the lock, and `ArenaFault` if the folder cannot be used.
    """
    with contextlib.ExitStack() as stack:
        try:
            with private_umask():
                folder.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
            stack.enter_context(file_lock(folder / "archive"))
            for left in folder.glob(_PARTIAL_PATTERN):  # left by a killed process
                left.unlink()
        except BlockingIOError as exc:
            raise ArchivesBusy(f"another process changes the files in {folder}: try again when it is done") from exc
        except OSError as exc:
            raise ArenaFault(f"the folder {folder} can't be used: {exc.strerror}") from exc
        yield


def plan_archive(folder: Path, records: Sequence[OldRecord]) -> NewArchive | None:
    """Plan an archive file with these records, except damaged ones. Return None if no record is left."""
    texts: dict[str, bytes] = {}
    for one in records:
        with contextlib.suppress(BadRecord):
            texts[one.match] = unpack(one.data, one.match)
    written = [one for one in records if one.match in texts]
    if not written:
        return None
    return NewArchive(
        folder / f"{written[0].number:07}-{len(written)}-{_digest(texts)}{ARCHIVE_SUFFIX}", written, texts
    )


def write_archive(new: NewArchive) -> int:
    """Write an archive file, sync it to disk, and check what was written. Return its size in bytes. The caller holds
    `lock_archives`. Raise `ArenaFault` if writing or the check fails.
    """
    path = new.path
    try:
        with replacing_file(path) as part:
            part.touch(mode=FILE_MODE)
            _write(part, new.texts)
            flush_to_disk(part)
            if dict(_read_records(part)) != new.texts:
                raise ArenaFault(f"{path} is not what was written: look after the disk; no record was moved")
        flush_to_disk(path.parent)
        flush_to_disk(path.parent.parent)
        return path.stat().st_size
    except OSError as exc:
        raise ArenaFault(f"{path} can't be written: {exc.strerror}") from exc


def remove_archive(path: Path) -> None:
    """Remove an archive file if it exists. Raise `ArenaFault` if it cannot be removed, or is none by its name: a
    database may be a stranger's, and name any file.
    """
    if not _NAME_PATTERN.fullmatch(path.name):
        raise ArenaFault(f"{path} is no file of old records by its name: it was left as it is")
    try:
        path.unlink(missing_ok=True)
        flush_to_disk(path.parent)
    except OSError as exc:
        raise ArenaFault(f"{path} can't be removed: {exc.strerror}") from exc


def read_archive(path: Path, matches: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the id and the gzip record of each match of `matches` that is in the archive file. Raise `ArchiveMissing`
    if the file is missing, and `BadRecord` if it is damaged.
    """
    for match, text in _read_records(path, matches):
        yield match, compress_lines(text)


class _FileVersion(NamedTuple):
    """The path, the time and the size of a file: a key for caches, which changes when the file does."""

    path: Path
    modified_ns: int
    size: int


class _RecordLocation(NamedTuple):
    """The location of a record: its block, and its byte range in the decompressed block."""

    block: str
    start: int
    end: int


def _read_records(path: Path, matches: Collection[str] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield the id and the record lines of each match in a file, in file order. With `matches`, yield only these."""
    with _translate_read_errors(path):
        status = path.stat()
        file = _FileVersion(path, status.st_mtime_ns, status.st_size)
        places = _read_directory(file)
        asked = places if matches is None else [match for match in matches if match in places]
        for match in sorted(asked, key=places.__getitem__):
            place = places[match]
            yield match, _read_block(file, place.block)[place.start : place.end]


@contextlib.contextmanager
def _translate_read_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as exc:
        raise ArchiveMissing(f"the file {path} is missing") from exc
    except OSError as exc:
        raise ArenaFault(f"{path} can't be read: {exc.strerror}") from exc
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, lzma.LZMAError) as exc:
        raise BadRecord(f"{path} is damaged: {exc}") from exc


@functools.lru_cache(maxsize=1)
def _read_directory(file: _FileVersion) -> dict[str, _RecordLocation]:
    """Return the location of each record in an archive file, by match id. The result for the last file stays cached."""
    places: dict[str, _RecordLocation] = {}
    with zipfile.ZipFile(file.path) as opened:
        for entry in opened.infolist():
            at = 0
            words = entry.comment.decode().split()
            for match, size in zip(words[::2], map(int, words[1::2]), strict=True):
                places[match] = _RecordLocation(entry.filename, at, at + size)
                at += size
    return places


@functools.lru_cache(maxsize=1)
def _read_block(file: _FileVersion, block: str) -> bytes:
    """Decompress a block. The last block stays cached, for callers that read one match after another."""
    with zipfile.ZipFile(file.path) as opened:
        return lzma.decompress(opened.read(block), lzma.FORMAT_XZ)


def _write(path: Path, texts: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as opened:
        for at, block in enumerate(batches(texts, lambda match: len(texts[match]), BLOCK_BYTES, BLOCK_RECORDS)):
            entry = zipfile.ZipInfo(f"{at:05}.jsonl.xz", _BLOCK_DATE)
            entry.comment = " ".join(f"{match} {len(texts[match])}" for match in block).encode()
            text = b"".join(texts[match] for match in block)
            opened.writestr(entry, lzma.compress(text, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=_COMPRESSION_FILTERS))


def batches(items: Iterable[T], bytes_of: Callable[[T], int], max_bytes: int, max_items: int) -> Iterator[list[T]]:
    """Split items into batches of limited size, of which none is empty. A single item may have more bytes."""
    batch: list[T] = []
    size = 0
    for item in items:
        if batch and (size + bytes_of(item) > max_bytes or len(batch) == max_items):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += bytes_of(item)
    if batch:
        yield batch


def _digest(texts: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for match, text in texts.items():
        digest.update(f"{match} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]
