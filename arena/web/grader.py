"""Grades a match in a separate process, because solving its map or estimating its moves takes long.

The command is `python -m arena.web.grader NAME REQUEST`, with the match's name and a `GradeRequest` as JSON. It reads
the record from standard input and writes a `GradedMatch`, or a `Refused` if the match can't be graded.
"""

from __future__ import annotations

import sys

import msgspec

from arena.replay.grading import Grades, grade_match
from machine.cache import cache_folder
from machine.exact.graders import store_new_tables_in
from machine.subprocesses import die_with_parent, renice
from protocol.errors import BadRecord, Fault
from referee import record_reader

NICENESS = 10
"""The niceness of the grading process. It is greater than that of the pages' process, so that pages go first."""
CACHE_FOLDER = "page"
"""The name of the cache's subfolder for grades and for the tables that grading has solved."""
MAX_TABLE_BYTES = 512 * 1024 * 1024
"""Maximum size in bytes, on disk, of the tables that grading has solved."""


class GradeRequest(msgspec.Struct, frozen=True):
    """A request for the grades of one seat's moves, or of all seats' if `seat` is None. `sims` is the number of
    simulations per move in a game that is not solved.
    """

    seat: int | None = None
    sims: int | None = None


class GradedMatch(msgspec.Struct, frozen=True, tag="Graded"):
    """The grades of a match."""

    grades: Grades


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The reason why a match can't be graded, and whether its record is damaged."""

    reason: str
    is_damaged: bool


def main() -> None:
    """Grade the record on standard input."""
    die_with_parent()
    renice(NICENESS)
    store_new_tables_in(cache_folder() / CACHE_FOLDER, MAX_TABLE_BYTES)
    said: GradedMatch | Refused
    try:
        wanted = msgspec.json.decode(sys.argv[2], type=GradeRequest)
        record = record_reader.read_record(sys.stdin.buffer.read(), sys.argv[1])
        said = GradedMatch(grade_match(record, sims=wanted.sims, seat=wanted.seat, with_luck=wanted.sims is None))
    except Fault as fault:
        said = Refused(str(fault), isinstance(fault, BadRecord))
    sys.stdout.buffer.write(msgspec.json.encode(said))


if __name__ == "__main__":
    main()
