"""Caches estimates of moves in the user's cache folder as they are found, so that a stopped run can continue."""

from __future__ import annotations

import hashlib
from contextlib import suppress

import msgspec

from arena.replay.grading import Graded
from machine.cache import cache_folder, make_room
from machine.source_digest import digest_of_all
from protocol.digest import encode_canonical
from referee.record import Record

MAX_CACHE_BYTES = 64 * 1024 * 1024
"""Maximum size in bytes of the cache of estimates. The matches that were graded longest ago are dropped first."""


class EstimateFile:
    """The cached estimates of one match's moves by one method (`estimate`) and this version of the code.

    Errors of writing the cache are ignored.
    """

    def __init__(self, record: Record, estimate: str) -> None:
        what = encode_canonical([record.header.match, record.footer.digest, estimate, digest_of_all()])
        self._file = cache_folder() / "grades" / f"{hashlib.sha256(what).hexdigest()[:32]}.jsonl"
        self._moves: dict[int, Graded] = {}
        with suppress(OSError, msgspec.MsgspecError):  # a line that was cut off is the last
            for line in self._file.read_bytes().splitlines():
                move = msgspec.json.decode(line, type=Graded)
                self._moves[move.ply] = move
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.touch()
            make_room(self._file.parent, "*.jsonl", MAX_CACHE_BYTES)
            self._file.write_bytes(b"".join(map(_line, self._moves.values())))

    def get(self, ply: int) -> Graded | None:
        """Return the cached estimate of the move at a ply, or None."""
        return self._moves.get(ply)

    def add(self, graded: Graded) -> None:
        self._moves[graded.ply] = graded
        with suppress(OSError), self._file.open("ab") as file:
            file.write(_line(graded))


def _line(graded: Graded) -> bytes:
    return msgspec.json.encode(graded) + b"\n"
