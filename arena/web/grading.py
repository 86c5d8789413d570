"""Grades of matches, cached on disk. Grades that need a map to be solved, or estimates, are made in a separate process,
one at a time, with a timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect

from arena.replay.grading import Grades, can_estimate, grade
from arena.web.grader import FOLDER, Graded, Refused, Wanted
from arena.web.kept_grades import KeptGrades
from arena.web.turns import Turns
from machine.cache import cache_folder
from machine.exact.graders import has_judge
from machine.timeouts import scaled
from protocol.errors import ArenaFault, BadRecord, Fault, UsageFault
from protocol.games import load
from referee import record_reader

LOOK_AGAIN = 0.25
"""Seconds between two checks whether the visitor still waits."""
MOST_PER_ADDRESS, MOST = 40, 256
MOST_BYTES = 64 * 1024 * 1024
"""Maximum size of the grade cache."""
EXACT, ESTIMATED, UNGRADED = "exact", "estimated", ""
"""The ways in which moves can be graded."""
_decode = msgspec.json.Decoder(Graded | Refused).decode


@dataclass(frozen=True)
class GradingTimeouts:
    """The time limits for grading one match, in seconds."""

    solve_timeout_s: float = 20.0
    """The time for solving a map. Maps of a preset are quick."""
    estimate_timeout_s: float = 50.0
    """The time for estimating moves, shorter than the timeout of a request."""


def how_graded(game: str, config: Mapping[str, Any]) -> str:
    """Return how the moves of a match under a config can be graded, without solving anything."""
    try:
        if has_judge(load(game, config)):
            return EXACT
    except Fault:  # a game or config of another version
        return UNGRADED
    return ESTIMATED if can_estimate(game) else UNGRADED


class Grading:
    """The queue of matches to grade, in which addresses take turns, and the cache of grades."""

    def __init__(self, timeouts: GradingTimeouts | None = None) -> None:
        self._timeouts = timeouts or scaled(GradingTimeouts())
        self._turns = Turns(1, MOST_PER_ADDRESS, MOST)
        self._kept = KeptGrades(cache_folder() / FOLDER, MOST_BYTES)

    async def grades(
        self, address: str, record: bytes, name: str, wanted: Wanted, gone: Callable[[], Awaitable[bool]]
    ) -> Grades:
        """Return the grades of a match, from the cache or from the grading process. Raises the errors of `grade`,
        `ArenaFault` after the timeout, and `ClientDisconnect` if the visitor is `gone`. The process is killed in both
        cases.
        """
        kept = await asyncio.to_thread(self._kept.read, record, wanted)
        if kept is not None:
            return kept
        await self._turns.enter(address, gone)
        try:
            said = await _asked(record, name, wanted, gone, self._timeouts)
        finally:
            self._turns.leave()
        if isinstance(said, Refused):
            raise (BadRecord if said.damaged else UsageFault)(said.why)
        await asyncio.to_thread(self._kept.write, record, wanted, said.grades)
        return said.grades

    def grades_here(self, record: bytes, name: str, seat: int | None = None) -> Grades:
        """Return the grades of a match, or of one seat, without solving, in this thread. Raises as `grade`."""
        wanted = Wanted(seat=seat)
        found = self._kept.read(record, wanted)
        if found is None:
            found = grade(record_reader.read(record, name), seat=seat)
            self._kept.write(record, wanted, found)
        return found


async def _asked(
    record: bytes, name: str, wanted: Wanted, gone: Callable[[], Awaitable[bool]], timeouts: GradingTimeouts
) -> Graded | Refused:
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "arena.web.grader", name, msgspec.json.encode(wanted).decode())
    timeout, what = (timeouts.solve_timeout_s, "map of {} takes more than {:g} s to solve")
    if wanted.sims is not None:
        timeout, what = timeouts.estimate_timeout_s, "moves of {} take more than {:g} s to estimate"
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL)
    answer = asyncio.create_task(process.communicate(record))
    try:
        async with asyncio.timeout(timeout):
            while not (await asyncio.wait({answer}, timeout=LOOK_AGAIN))[0]:
                if await gone():
                    raise ClientDisconnect
        said: Graded | Refused = _decode(answer.result()[0])
        return said
    except TimeoutError:
        raise ArenaFault(
            f"the {what.format(name, timeout)}: `arena replay grade` grades its record, which is here to be saved"
        ) from None
    except msgspec.DecodeError as exc:
        raise ArenaFault(f"the grading of {name} came to no end") from exc
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await asyncio.wait({answer})
