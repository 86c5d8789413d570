"""Records of matches in flight: one append-only file a match, written before anything is told.

Written, not fsynced: `kill -9` loses nothing, a crash of the machine may lose the last moves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from arena.record import AnyLine, read_lines, write_line
from protocol.errors import ArenaFault


class JournalFault(ArenaFault):
    """The journal can't be written: a full disk, a folder that is gone."""


class Journal:
    """The folder of journals."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def begin(self, match: str) -> MatchJournal:
        """A new journal. One of that name is written over: its match is played again from the start."""
        return MatchJournal(self._path(match), os.O_TRUNC)

    def proceed(self, match: str) -> MatchJournal:
        """The journal of a match that goes on after a restart."""
        return MatchJournal(self._path(match), 0)

    def unfinished(self) -> Iterator[tuple[str, list[AnyLine]]]:
        """Every match that was under way, with its lines; a last line that was half-written is cut off.

        Raises `BadRecord` for a file that is no journal.
        """
        for path in sorted(self.folder.glob("*.jsonl")):
            whole, _, rest = path.read_bytes().rpartition(b"\n")
            if rest:
                os.truncate(path, len(whole) + 1 if whole else 0)
            yield path.stem, read_lines(whole.split(b"\n") if whole else [], str(path))

    def forget(self, match: str) -> None:
        """Remove a match's journal: its record is stored, or it is not to go on."""
        self._path(match).unlink(missing_ok=True)

    def _path(self, match: str) -> Path:
        return self.folder / f"{match}.jsonl"


class MatchJournal:
    """The open journal of one match."""

    def __init__(self, path: Path, flags: int) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | flags, 0o600)
        except OSError as exc:
            raise JournalFault(f"the journal {path} can't be opened: {exc.strerror}") from exc

    def write(self, line: AnyLine) -> None:
        """Append a line, whole, to the file. Raises `JournalFault`."""
        data = write_line(line)
        try:
            if os.write(self._file, data) != len(data):
                raise JournalFault(f"the journal {self._path} took only a part of a line: is the disk full?")
        except OSError as exc:
            raise JournalFault(f"the journal {self._path} can't be written: {exc.strerror}") from exc

    def record_lines(self) -> list[bytes]:
        """The lines that go into the record: all but what only a journal has."""
        private = (b'{"type":"secret"', b'{"type":"begun"')
        return [line for line in self._path.read_bytes().splitlines(keepends=True) if not line.startswith(private)]

    def close(self) -> None:
        """Let go of the file; it stays in the folder until `Journal.forget`."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
