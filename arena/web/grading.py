"""Grades of matches, cached on disk. Grades that need a map to be solved, or estimates, are made in a separate process,
one at a time, with a timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect

from arena.replay.grading import Grades, can_estimate, grade_match
from arena.web.grader import CACHE_FOLDER, GradedMatch, GradeRequest, Refused
from arena.web.turns import FairTaskQueue
from machine.atomic_write import replacing_file
from machine.cache import cache_folder, make_room
from machine.exact.graders import has_grader
from machine.run_program import run_program
from machine.source_digest import digest_of_all
from machine.timeouts import scale_timeouts
from protocol.errors import ArenaFault, BadRecord, Fault, UsageFault
from protocol.games import load_game
from referee import record_reader

VISITOR_CHECK_INTERVAL_S = 0.25
"""Seconds between two checks whether the visitor still waits for the grades."""
MAX_WAITING_PER_ADDRESS, MAX_WAITING = 40, 256
"""Maximum number of matches that wait to be graded: in total `MAX_WAITING`, of one address
`MAX_WAITING_PER_ADDRESS`.
"""
MAX_CACHE_BYTES = 64 * 1024 * 1024
"""Maximum size in bytes of the grade cache on disk."""
EXACT_METHOD, ESTIMATE_METHOD, NO_METHOD = "exact", "estimated", ""
"""The methods of grading: `EXACT_METHOD` looks values up in a solved game, `ESTIMATE_METHOD` simulates games, and
`NO_METHOD` means that there are no grades. The pages' scripts use these texts.
"""
_decode = msgspec.json.Decoder(GradedMatch | Refused).decode


@dataclass(frozen=True)
class GradingTimeouts:
    """The time limits for grading one match, in seconds."""

    solve_timeout_s: float = 20.0
    """The timeout for solving a map. The maps of presets are solved quickly."""
    estimate_timeout_s: float = 50.0
    """The timeout for estimating moves. It is shorter than the timeout of a request."""


def grading_method(game: str, config: Mapping[str, Any]) -> str:
    """Return the method by which moves under this config can be graded. Nothing is solved to find out."""
    try:
        if has_grader(load_game(game, config)):
            return EXACT_METHOD
    except Fault:  # a game or config of another version
        return NO_METHOD
    return ESTIMATE_METHOD if can_estimate(game) else NO_METHOD


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
            found = msgspec.json.decode(path.read_bytes(), type=Grades)
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


class Grading:
    """The queue of matches to grade, in which addresses take turns, and the cache of grades."""

    def __init__(self, timeouts: GradingTimeouts | None = None) -> None:
        self._timeouts = timeouts or scale_timeouts(GradingTimeouts())
        self._turns = FairTaskQueue(1, MAX_WAITING_PER_ADDRESS, MAX_WAITING)
        self._kept = GradeCache(cache_folder() / CACHE_FOLDER, MAX_CACHE_BYTES)

    async def grade(
        self, address: str, record: bytes, name: str, request: GradeRequest, is_gone: Callable[[], Awaitable[bool]]
    ) -> Grades:
        """Return the grades of a match, from the cache or from the grading process.

        Raise `BadRecord` or `UsageFault` if the match can't be graded, `ArenaFault` after the timeout, and
        `ClientDisconnect` once `is_gone()` is true. After the last two, the grading process is killed.
        """
        kept = await asyncio.to_thread(self._kept.read, record, request)
        if kept is not None:
            return kept
        async with self._turns.turn(address, is_gone):
            said = await _run_grader(record, name, request, is_gone, self._timeouts)
        if isinstance(said, Refused):
            raise (BadRecord if said.is_damaged else UsageFault)(said.reason)
        await asyncio.to_thread(self._kept.write, record, request, said.grades)
        return said.grades

    def grade_here(self, record: bytes, name: str, seat: int | None = None) -> Grades:
        """Return the grades of all seats or of one, from the cache or made in this thread.

        Call it only if grading needs no solving. Raise the errors of `grade_match`.
        """
        wanted = GradeRequest(seat=seat)
        found = self._kept.read(record, wanted)
        if found is None:
            found = grade_match(record_reader.read_record(record, name), seat=seat)
            self._kept.write(record, wanted, found)
        return found


async def _run_grader(
    record: bytes, name: str, request: GradeRequest, gone: Callable[[], Awaitable[bool]], timeouts: GradingTimeouts
) -> GradedMatch | Refused:
    command = (sys.executable, "-m", "arena.web.grader", name, msgspec.json.encode(request).decode())
    timeout, what = (timeouts.solve_timeout_s, "map of {} takes more than {:g} s to solve")
    if request.sims is not None:
        timeout, what = timeouts.estimate_timeout_s, "moves of {} take more than {:g} s to estimate"
    answer = asyncio.create_task(run_program(*command, data=record))
    try:
        async with asyncio.timeout(timeout):
            while not (await asyncio.wait({answer}, timeout=VISITOR_CHECK_INTERVAL_S))[0]:
                if await gone():
                    raise ClientDisconnect
        said: GradedMatch | Refused = _decode(answer.result().output)
        return said
    except TimeoutError:
        raise ArenaFault(
            f"the {what.format(name, timeout)}: `arena replay grade` grades its record, which you can download here"
        ) from None
    except msgspec.DecodeError as exc:
        raise ArenaFault(f"the grading of {name} failed") from exc
    finally:
        answer.cancel()
        await asyncio.wait({answer})
