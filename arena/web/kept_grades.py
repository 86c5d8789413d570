"""A cache of grades on disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import msgspec

from arena.replay.grading import Grades
from arena.web.grader import GradeRequest
from machine.atomic_write import replacing_file
from machine.cache import make_room
from machine.source_digest import digest_of_all

_decode = msgspec.json.Decoder(Grades).decode


class GradeCache:
    """The cache of grades in a folder. Beyond `max_bytes`, the least recently used grades are removed.

    Files that can't be read are ignored, and without write access nothing is cached.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder, self._most_bytes = folder, max_bytes

    def read(self, record: bytes, request: GradeRequest) -> Grades | None:
        """Return the cached grades of a record, made by this version of the code; None if there are none."""
        path = self._path(record, request)
        try:
            found = _decode(path.read_bytes())
            os.utime(path)
        except (OSError, msgspec.DecodeError):
            return None
        return found

    def write(self, record: bytes, request: GradeRequest, grades: Grades) -> None:
        path = self._path(record, request)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing_file(path) as there:
                there.write_bytes(msgspec.json.encode(grades))
        make_room(self._folder, "grades-*", self._most_bytes)

    def _path(self, record: bytes, request: GradeRequest) -> Path:
        named = hashlib.sha256(digest_of_all().encode() + msgspec.json.encode(request) + record)
        return self._folder / f"grades-{named.hexdigest()[:32]}"
