"""The process that grades a match whose map may have to be solved first, or whose moves are estimated:
`python -m arena.web.grader NAME WANTED`, the latter as JSON.

On standard input comes the record; on standard output goes a `Graded` or, of a match that cannot be, a `Refused`.
"""

from __future__ import annotations

import sys

import msgspec

from arena.replay.grading import Grades, grade
from machine.cache import cache_folder
from machine.exact.graders import keep_new_tables_in
from machine.subprocesses import be_nice, die_with_parent
from protocol.errors import BadRecord, Fault
from referee import record_reader

NICE = 10
"""More than the page's own: whoever only reads goes first."""
FOLDER = "page"
"""In the cache, where the tables are that were solved for visitors."""
MOST_BYTES = 512 * 1024 * 1024


class Wanted(msgspec.Struct, frozen=True):
    """Which moves are graded: those of one seat or of all; where the game is not solved, by so many simulations."""

    seat: int | None = None
    sims: int | None = None


class Graded(msgspec.Struct, frozen=True, tag=True):
    """The grades."""

    grades: Grades


class Refused(msgspec.Struct, frozen=True, tag=True):
    """Why there are none; whether it is the record's fault."""

    why: str
    damaged: bool


def main() -> None:
    """Grade what is on standard input."""
    die_with_parent()
    be_nice(NICE)
    keep_new_tables_in(cache_folder() / FOLDER, MOST_BYTES)
    said: Graded | Refused
    try:
        wanted = msgspec.json.decode(sys.argv[2], type=Wanted)
        record = record_reader.read(sys.stdin.buffer.read(), sys.argv[1])
        said = Graded(grade(record, sims=wanted.sims, seat=wanted.seat, with_luck=wanted.sims is None))
    except Fault as fault:
        said = Refused(str(fault), isinstance(fault, BadRecord))
    sys.stdout.buffer.write(msgspec.json.encode(said))


if __name__ == "__main__":
    main()
