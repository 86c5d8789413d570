"""Runs a program to its end, which comes at once if its caller is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from asyncio.subprocess import PIPE
from typing import Any, NamedTuple

from machine.event_loop import wait_within

END_TIMEOUT_S = 5.0
"""Seconds in which a program must end after its signal. Then it is killed."""


class ProgramEnd(NamedTuple):
    """The end of a program: its exit code, negative for a signal, and its two outputs."""

    code: int
    output: bytes
    errors: bytes

    @property
    def last_error(self) -> str:
        """The last line of its error output; empty if it wrote none."""
        return self.errors.decode(errors="replace").strip().rpartition("\n")[2]


async def run_program(*command: str, data: bytes = b"", end_signal: int = signal.SIGKILL, **options: Any) -> ProgramEnd:
    """Run a program with `data` as its standard input, and with `options` as asyncio has them.

    Raise `OSError` if it can't be started. If this coroutine is cancelled, the program gets `end_signal`, is killed
    if it does not end by that, and has ended when the cancellation is raised.
    """
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, **options)
    try:
        output, errors = await process.communicate(data)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(end_signal)
            await wait_within(process.wait(), END_TIMEOUT_S)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        code = await process.wait()
    return ProgramEnd(code, output, errors)
