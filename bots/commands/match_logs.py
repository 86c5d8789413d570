"""The logs that `arena-bot pipe --match-logs` keeps: what a program writes besides its moves, within limits."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import IO

import msgspec

from machine.atomic_write import replacing_file
from protocol.errors import UsageFault, os_errors_as
from protocol.match_logs import (
    LOG_ENDING,
    LOG_HALF_BYTES,
    MAX_FAULTS,
    MAX_LOG_CHARS,
    OPEN_LOG_ENDING,
    STATE_FILE,
    MatchLog,
    ProgramFault,
)

LAST_LINE_COUNT, MAX_LAST_LINES_CHARS = 8, 1000
"""Maximum lines, and characters of them, from the end of the output that stand beside a fault."""
MAX_FAULT_CHARS = 500
"""Maximum characters of what a program did."""
READ_CHUNK_BYTES = 16 * 1024
"""Maximum bytes of a program's output that are read at a time."""
FLOOD_PAUSE_S = 0.02
"""Seconds between two reads of a program that has filled its log: it writes no faster than it is read, and to read all
that it can write would take processor time from its opponent."""
DRAIN_TIMEOUT_S = 1.0
"""Seconds in which the rest of an ended program's output must be read."""


class OutputLog:
    """The beginning and the end of a program's output. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0
        self._faults: list[ProgramFault] = []

    @property
    def is_full(self) -> bool:
        """True once parts in the middle are left out."""
        return self._left_out > 0

    def add(self, written: bytes) -> None:
        """Add a part of the output."""
        with self._lock:
            room = LOG_HALF_BYTES - len(self._head)
            self._head += written[:room]
            self._tail += written[room:]
            surplus = max(0, len(self._tail) - LOG_HALF_BYTES)
            del self._tail[:surplus]
            self._left_out += surplus

    def add_note(self, note: str) -> None:
        """Add a line of the client's in brackets."""
        is_at_begin_of_line = bytes((self._tail or self._head)[-1:]) in (b"", b"\n")
        self.add((b"" if is_at_begin_of_line else b"\n") + f"[{note}]\n".encode())

    def add_fault(self, ply: int, what: str) -> None:
        """Add a fault of the program, with the last lines that it wrote before."""
        fault = ProgramFault(ply=ply, what=what[:MAX_FAULT_CHARS], last_lines=self._last_lines())
        self.add_note(str(fault))
        if len(self._faults) < MAX_FAULTS:
            self._faults.append(fault)

    def move_to(self, other: OutputLog) -> None:
        """Add all of this log to another one."""
        other.add(bytes(self._head))
        other.add(bytes(self._tail))

    def to_log(self, match: str) -> MatchLog:
        """Return the log of a match."""
        with self._lock:
            gap = f"\n[{self._left_out} bytes are left out here]\n" if self._left_out else ""
            text = f"{self._head.decode(errors='replace')}{gap}{self._tail.decode(errors='replace')}"
            return MatchLog(match=match, text=text[-MAX_LOG_CHARS:], faults=tuple(self._faults))

    def _last_lines(self) -> str:
        """Return the end of the output since the fault before."""
        with self._lock:
            end = (self._head + self._tail if not self._left_out else self._tail)[-MAX_LAST_LINES_CHARS:]
        lines = end.decode(errors="replace").splitlines()
        if self._faults and (note := f"[{self._faults[-1]}]") in lines:
            del lines[: len(lines) - lines[::-1].index(note)]
        return "\n".join(lines[-LAST_LINE_COUNT:])


class OutputReader:
    """A thread that reads the standard error of a program into a log until it ends."""

    def __init__(self, errors: IO[bytes]) -> None:
        self.log = OutputLog()
        self._lock = threading.Lock()
        self._errors = errors
        self._thread = threading.Thread(target=self._read, name="program output", daemon=True)
        self._thread.start()

    def write_to(self, log: OutputLog) -> None:
        """Add what was read so far to another log, and from now on read into that one."""
        with self._lock:
            self.log.move_to(log)
            self.log = log

    def finish(self) -> None:
        """Wait until the output of a program that has ended is read."""
        self._thread.join(DRAIN_TIMEOUT_S)

    def _read(self) -> None:
        with self._errors as errors:
            while written := os.read(errors.fileno(), READ_CHUNK_BYTES):
                with self._lock:
                    self.log.add(written)
                if self.log.is_full:
                    time.sleep(FLOOD_PAUSE_S)


class MatchLogFolder:
    """The folder in which the logs of a bot's matches are left, a file for each match.

    The logs of matches that an earlier client left open are ended, so that the fault that it met is not lost with it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with os_errors_as(UsageFault, f"the folder {folder} of --match-logs can't be made"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for file in folder.glob(f"*{OPEN_LOG_ENDING}"):
                file.replace(file.with_suffix(LOG_ENDING))

    def write_state(self, tar: bytes) -> None:
        """Replace the tar of the files that the program keeps. Raise `UsageFault` if it can't be written."""
        path = self._folder / STATE_FILE
        with os_errors_as(UsageFault, f"the file {path} can't be written"), replacing_file(path) as part:
            part.write_bytes(tar)
            part.chmod(0o644)  # the user in the box reads it, whatever the umask

    def write(self, log: MatchLog, *, is_open: bool = False) -> None:
        """Write the log of a match, unless it says nothing. The match may still be in progress, `is_open`.

        Raise `UsageFault` if it can't be written.
        """
        if not log.text.strip() and not log.faults:
            return
        path = self._folder / f"{log.match}{OPEN_LOG_ENDING if is_open else LOG_ENDING}"
        with os_errors_as(UsageFault, f"the log {path} can't be written"), replacing_file(path) as part:
            part.write_bytes(msgspec.json.encode(log))
        if not is_open:
            path.with_suffix(OPEN_LOG_ENDING).unlink(missing_ok=True)
