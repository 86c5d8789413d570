"""Estimates of moves, kept in the user's cache folder as they are found: who is stopped finds them the next time."""

from __future__ import annotations

import hashlib
from contextlib import suppress

import msgspec

from arena.replay.grading import Graded
from machine.cache import cache_folder, make_room
from machine.source_digest import digest_of_all
from protocol.digest import canonical
from referee.record import Record

MOST_BYTES = 64 * 1024 * 1024
"""Of estimates that are kept: those of the matches graded last."""


class KeptEstimates:
    """The moves of a match that were estimated so, with this code; where nothing can be kept, none are."""

    def __init__(self, record: Record, estimate: str) -> None:
        what = canonical([record.header.match, record.footer.digest, estimate, digest_of_all()])
        self._file = cache_folder() / "grades" / f"{hashlib.sha256(what).hexdigest()[:32]}.jsonl"
        self._moves: dict[int, Graded] = {}
        with suppress(OSError, msgspec.MsgspecError):  # of a line that is cut off, what comes after is cut off, too
            for line in self._file.read_bytes().splitlines():
                move = msgspec.json.decode(line, type=Graded)
                self._moves[move.ply] = move
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.touch()
            make_room(self._file.parent, "*.jsonl", MOST_BYTES)
            self._file.write_bytes(b"".join(map(_line, self._moves.values())))

    def get(self, ply: int) -> Graded | None:
        """The move that was made at a ply, if it is known."""
        return self._moves.get(ply)

    def add(self, move: Graded) -> None:
        """Keep a move."""
        self._moves[move.ply] = move
        with suppress(OSError), self._file.open("ab") as file:
            file.write(_line(move))


def _line(move: Graded) -> bytes:
    return msgspec.json.encode(move) + b"\n"
