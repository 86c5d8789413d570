"""Grades of matches, kept for whoever asks again. On maps that may have to be solved first they are made by a process
of its own, one at a time, for a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import ClientDisconnect

from arena.replay.grading import Grades, grade
from arena.web.grader import FOLDER, Graded, Refused
from arena.web.kept_grades import KeptGrades
from arena.web.turns import Turns
from machine.cache import cache_folder
from protocol.errors import ArenaFault, BadRecord, UsageFault
from referee import record_reader

TIMEOUT = 20.0
"""Seconds that grading one match may take; those of a preset take a moment."""
LOOK_AGAIN = 0.25
"""Seconds between two looks whether somebody still waits."""
MOST_PER_ADDRESS, MOST = 40, 256
MOST_BYTES = 64 * 1024 * 1024
"""Of grades that are kept."""
_decode = msgspec.json.Decoder(Graded | Refused).decode


class Grading:
    """Whose match is graded next: addresses take turns."""

    def __init__(self) -> None:
        self._turns = Turns(1, MOST_PER_ADDRESS, MOST)
        self._kept = KeptGrades(cache_folder() / FOLDER, MOST_BYTES)

    async def grades(self, address: str, record: bytes, name: str, gone: Callable[[], Awaitable[bool]]) -> Grades:
        """The grades of a match, by the process. Raises what is wrong as `grade` does, `ArenaFault` where it took too
        long, and `ClientDisconnect` where its visitor is `gone`: then the process is killed.
        """
        kept = await asyncio.to_thread(self._kept.read, record)
        if kept is not None:
            return kept
        await self._turns.enter(address, gone)
        try:
            said = await _asked(record, name, gone)
        finally:
            self._turns.leave()
        if isinstance(said, Refused):
            raise (BadRecord if said.damaged else UsageFault)(said.why)
        await asyncio.to_thread(self._kept.write, record, said.grades)
        return said.grades

    def grades_here(self, record: bytes, name: str) -> Grades:
        """The grades of a match that needs no solving, made by this thread. Raises as `grade` does."""
        found = self._kept.read(record)
        if found is None:
            found = grade(record_reader.read(record, name))
            self._kept.write(record, found)
        return found


async def _asked(record: bytes, name: str, gone: Callable[[], Awaitable[bool]]) -> Graded | Refused:
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "arena.web.grader", name)
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL)
    answer = asyncio.create_task(process.communicate(record))
    try:
        async with asyncio.timeout(TIMEOUT):
            while not (await asyncio.wait({answer}, timeout=LOOK_AGAIN))[0]:
                if await gone():
                    raise ClientDisconnect
        said: Graded | Refused = _decode(answer.result()[0])
        return said
    except TimeoutError:
        raise ArenaFault(
            f"the map of {name} takes more than {TIMEOUT:g} s to solve: `arena replay grade` grades its record, "
            "which is here to be saved"
        ) from None
    except msgspec.DecodeError as exc:
        raise ArenaFault(f"the grading of {name} came to no end") from exc
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await asyncio.wait({answer})
