"""The journals of running matches: one append-only file per match, which is written before anything is sent.

With writing alone, `kill -9` loses nothing, but a crash of the machine may lose the last moves. Syncing is optional.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from arena.host.commit_log import CommitLog, JournalEntry, journal_path, restore_journals
from machine.atomic_write import flush_to_disk
from machine.log_output import log_fields
from protocol.errors import ArenaFault, BadRecord, os_errors_as
from protocol.messages import Event
from referee.messages import MAX_EVENT_BYTES
from referee.record import AnyLine, Header, is_public
from referee.record_reader import complete_lines, read_lines

READ_BLOCK_BYTES = 64 * 1024
"""The block size for reading a journal from its end."""
WRITE_TEST_BYTES = 16 * 1024
"""The number of bytes that `Journal.probe` writes to test the disk: the size of a typical journal."""
MAX_STATE_LINES, MAX_STATE_LINES_BYTES = 512, 256 * 1024
"""Maximum number and bytes of the lines of a journal whose states a new spectator gets: they go into one message."""
MAX_SHOWN_BYTES = 80
"""Maximum number of bytes of an incomplete line that the log shows."""

log = logging.getLogger("arena.host.journal")


class _EventLine(Struct, tag_field="type", tag="ply"):
    """A line of a journal that has an event. Decoding ignores the other fields of the line."""

    event: Event


class _StateLine(Struct, tag_field="type", tag="ply"):
    """A line of a journal that has an event and the state after it."""

    state: dict[str, Any] = {}


_EVENT_LINE_PREFIX = b'{"type":"ply"'
"""The first bytes of a journal line that has an event."""
_encode = msgspec.json.Encoder().encode
_decode_event = msgspec.json.Decoder(_EventLine).decode
_decode_state = msgspec.json.Decoder(_StateLine).decode


class JournalFault(ArenaFault):
    """Raised if a journal can't be written or read, for example because the disk is full or the folder is gone."""


class Journal:
    """The folder of journals. With `synced`, lines count as written only after a commit log has synced them.

    At most `max_open` journals may be open when another match starts. The constructor raises `JournalFault` if the
    folder is unusable.
    """

    def __init__(self, folder: Path, *, synced: bool = False, max_open: int | None = None) -> None:
        self.folder = folder
        self._max_open = max_open
        self.open_count = 0
        """The number of open journals."""
        with os_errors_as(JournalFault, f"the journal's folder {folder} can't be made"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os_errors_as(JournalFault, f"the journals in {folder} can't be mended"):
            restore_journals(folder)
            self.log = CommitLog(folder) if synced else None

    def create(self, match: str) -> MatchJournal:
        """Return a new journal for a match. It replaces any old one, because the match is played again from the start.

        Raise `JournalFault` if it can't be made, or if too many journals are open.
        """
        self._check_limit()
        return MatchJournal(self, match, os.O_TRUNC)

    def reopen(self, match: str) -> MatchJournal:
        """Open the journal of a match that resumes after a restart. The limit on open journals does not apply."""
        return MatchJournal(self, match, 0)

    def close(self) -> None:
        if self.log is not None:
            self.log.close()

    def list_matches(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob("*.jsonl"))

    def read(self, match: str) -> list[AnyLine]:
        """Return the lines of a match's journal. An incomplete last line is cut off and logged.

        Raise `BadRecord` if the file is no journal of this match, `JournalFault` if it can't be read.
        """
        path = journal_path(self.folder, match)
        with os_errors_as(JournalFault, f"the journal {path} can't be read"):
            whole, _, rest = path.read_bytes().rpartition(b"\n")
            lines = read_lines(complete_lines(whole + b"\n") if whole else [], str(path))
            if rest:
                os.truncate(path, len(whole) + 1 if whole else 0)
                text = "%s ended in an incomplete line, which was never announced and is removed: %s"
                log.warning(text, path, _preview(rest), extra=log_fields(match=match))
        for line in lines:
            if isinstance(line, Header) and line.match != match:
                raise BadRecord(f"{path} is the journal of another match, {line.match}")
        return lines

    def remove(self, match: str) -> None:
        """Remove the journal of a match that is stored or is not to resume. Raise `JournalFault` if that fails."""
        path = journal_path(self.folder, match)
        with os_errors_as(JournalFault, f"the journal {path} can't be removed"):
            path.unlink(missing_ok=True)

    def probe(self) -> None:
        """Raise `JournalFault` unless a journal of typical size can be written. The file is removed again."""
        self._check_limit()
        path = self.folder / "probe"
        with os_errors_as(JournalFault, f"no journal can be made in {self.folder}"):
            try:
                path.write_bytes(bytes(WRITE_TEST_BYTES))
            finally:
                path.unlink(missing_ok=True)

    def _check_limit(self) -> None:
        if self._max_open is not None and self.open_count >= self._max_open:
            raise JournalFault(f"{self.open_count} matches are under way: the limit of open files is reached")


def _preview(data: bytes) -> str:
    return f"{data[:MAX_SHOWN_BYTES]!r}{'...' if len(data) > MAX_SHOWN_BYTES else ''} ({len(data)} bytes)"


class MatchJournal:
    """The open journal of one match."""

    def __init__(self, journal: Journal, match: str, flags: int) -> None:
        self._journal = journal
        self._path = path = journal_path(journal.folder, match)
        self._log = log = journal.log
        with os_errors_as(JournalFault, f"the journal {path} can't be opened"):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | flags, 0o600)
            self.size_bytes = os.fstat(self._file).st_size
            """The size of the journal in bytes."""
            if log is not None:
                try:
                    if self.size_bytes:  # lines that no commit log has
                        os.fdatasync(self._file)
                    flush_to_disk(path.parent)
                except OSError:
                    os.close(self._file)
                    raise
        journal.open_count += 1

    def write(self, data: bytes) -> None:
        """Append lines, all or none, and sync them if there is a commit log. Raise `JournalFault` on failure."""
        at = self.append(data)
        if self._log is not None:
            try:
                self._log.commit([JournalEntry(self._path.stem, at, data)])
            except OSError as exc:
                raise self.roll_back(at, exc) from exc

    def append(self, data: bytes) -> int:
        """Append lines, all or none, and return their offset. Raise `JournalFault` on failure."""
        try:
            written = os.write(self._file, data)
        except OSError as exc:
            raise JournalFault(f"the journal {self._path} can't be written: {exc.strerror}") from exc
        if written != len(data):
            self._truncate()
            raise JournalFault(f"the journal {self._path} took {written} of {len(data)} bytes: is the disk full?")
        at = self.size_bytes
        self.size_bytes += written
        return at

    def roll_back(self, offset: int, exc: BaseException) -> JournalFault:
        """Cut off the data from `offset` on, because it could not be synced. Return the error to raise for that."""
        self.size_bytes = offset
        self._truncate()
        return JournalFault(f"the journal {self._path} can't be synced: {getattr(exc, 'strerror', None) or exc}")

    def _truncate(self) -> None:
        with contextlib.suppress(OSError):  # data beyond `size_bytes` is never read
            os.ftruncate(self._file, self.size_bytes)

    def read_record_lines(self) -> list[bytes]:
        """Return the lines of the journal that belong in the record. Raise `JournalFault` if they can't be read.

        The lines are read from the open file, which may have been removed from its folder.
        """
        with os_errors_as(JournalFault, f"the journal {self._path} can't be read"):
            data = os.pread(self._file, self.size_bytes, 0)
        if len(data) < self.size_bytes:
            raise JournalFault(f"the journal {self._path} was cut short to {len(data)} of {self.size_bytes} bytes")
        return [line for line in data.splitlines(keepends=True) if is_public(line)]

    def read_events_before(self, event: Event, max_events: int) -> list[Event]:
        """Return the latest events that were recorded before this event: at most `max_events`, and only as many as fit
        into a message.

        If the journal can't be read, log that and return no events. The match continues without them.
        """
        found: list[Event] = []
        if self._file < 0:
            return found
        left, passed = MAX_EVENT_BYTES, False
        try:
            for line in self._read_lines_backwards():
                if not line.startswith(_EVENT_LINE_PREFIX):
                    continue
                earlier = _decode_event(line).event
                if passed:
                    left -= len(_encode(earlier))
                    if len(found) == max_events or left < 0:
                        break
                    found.append(earlier)
                elif earlier == event:
                    passed = True
        except OSError as exc:
            self._log_unreadable(exc)
            return []
        return found[::-1]

    def read_latest_states(self) -> list[dict[str, Any]]:
        """Return the recorded states after the latest events, as many as fit into a message.

        If the journal can't be read, log that and return no states. The match continues without them.
        """
        found: list[dict[str, Any]] = []
        left = MAX_STATE_LINES_BYTES
        try:
            for line in self._read_lines_backwards() if self._file >= 0 else ():
                if line.startswith(_EVENT_LINE_PREFIX):
                    left -= len(line)
                    if len(found) == MAX_STATE_LINES or left < 0:
                        break
                    found.append(_decode_state(line).state)
        except OSError as exc:
            self._log_unreadable(exc)
            return []
        return found[::-1]

    def _log_unreadable(self, exc: OSError) -> None:
        match = self._path.stem
        log.error("the journal %s can't be read: %s", self._path, exc.strerror, extra=log_fields(match=match))

    def _read_lines_backwards(self) -> Iterator[bytes]:
        """Yield the lines of the journal, last first. Raise `OSError` if it can't be read."""
        rest, at = b"", self.size_bytes
        while at > 0:
            block = min(READ_BLOCK_BYTES, at)
            at -= block
            first, *whole = (os.pread(self._file, block, at) + rest).split(b"\n")
            yield from reversed(whole)
            rest = first
        yield rest

    def close(self) -> None:
        """Close the file. It stays in the folder until `Journal.remove` is called."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._journal.open_count -= 1
