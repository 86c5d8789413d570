"""Processes: a bot's, which connects to the arena as any client does; and programs that are kept running."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from arena.processes.launch_spec import LISTENING, TERMINATE, LaunchSpec
from machine.backoff import Backoff
from machine.keeper import FAILED, STARTED
from machine.subprocesses import ending
from protocol.display import printable
from protocol.errors import ArenaFault, os_errors_as

LAST_LINES = 8
MOST_TOLD = 200
"""Characters of why a process ended, in a line."""
TERMINATE_WITHIN = 1.0
KILL_WITHIN = 2.0
LONGEST_WAIT = 60.0
"""Seconds until a program is started again: twice as many each time, until it has run as long as this."""
_HIDDEN = re.compile(r"cannot import name .*\bbots\b.*?[('\"]([^('\"]*[/\\]bots\.py)")
"""Last words of a bot from which the library is hidden, and the file that hides it."""
_LAUNCHER = (sys.executable, "-P", "-m", "arena.processes.launcher")


class BotCrashed(ArenaFault):
    """A bot's process ended when it should have played."""


class NoProgram(BotCrashed):
    """A bot's program is not there, or can't be run."""


class Crash(NamedTuple):
    """A bot's process that ended by itself: how, with which return code, and what its log says of it."""

    bot: str
    how: str
    code: int
    last_words: str
    last_line: str = ""

    @property
    def why(self) -> str:
        """How it ended and its last line, in one line."""
        return printable(f"{self.how}: {self.last_line}")[:MOST_TOLD] if self.last_line else self.how

    def __str__(self) -> str:
        return f"{self.bot} {self.how}; {self.last_words}"


class BotProcess:
    """A bot's process, which may be started again when it has ended. What it writes goes to a file, appended; where the
    order has a `largest_log`, to one that is begun anew then.

    A keeper runs it, which ends as it does, and ends it when this process is gone. From its sandbox comes a socket, on
    which `listen` has the arena listen until what it returns is called.
    """

    def __init__(
        self,
        name: str,
        order: LaunchSpec,
        log: Path,
        crashed: Callable[[BotProcess, Crash], None],
        listen: Callable[[socket.socket], Awaitable[Callable[[], None]]] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self.crashes = 0
        """How many there were in a row, without a match finished in between."""
        self._order = replace(order, log=str(log))
        self._crashed = crashed
        self._listen = listen
        self._leave: Callable[[], None] = lambda: None
        self._line: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._stopping = False
        self._ended_for: str | None = None
        self._begins = 0

    def played(self) -> None:
        """The bot finished a match: crashes are counted anew."""
        self.crashes = 0

    async def start(self) -> None:
        """Run the program, unless told to stop. Raises `NoProgram` if there is none, `ArenaFault` for its log."""
        if self._stopping:
            return
        with os_errors_as(ArenaFault, f"the log {self.log} can't be written"):
            self.log.parent.mkdir(parents=True, exist_ok=True)
            errors = self.log.open("ab")
        with errors:
            self._begins = errors.tell()
            await self._run(errors.fileno())

    async def _run(self, errors: int) -> None:
        """Start a keeper and give it its order; then it is watched, unless it could not run the program."""
        with os_errors_as(BotCrashed, f"{self.name} can't be started"):
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            self._line = ours
            with theirs:
                self._process = await asyncio.create_subprocess_exec(
                    *_LAUNCHER,
                    env=self._order.environment,
                    stdin=theirs.fileno(),
                    stdout=errors,
                    stderr=errors,
                    start_new_session=True,
                )
        if self._stopping:
            self._let_go()
        with contextlib.suppress(OSError):  # it has ended, which is seen below
            await asyncio.get_running_loop().sock_sendall(ours, self._order.line())
        answer, sockets = await _answer(ours, LISTENING if self._order.sandbox else STARTED)
        if sockets and self._listen is not None:
            self._leave = await self._listen(sockets[0])
        if FAILED in answer:
            await self._process.wait()
            self._hang_up()
            why = os.strerror(int(answer.partition(FAILED)[2]))
            raise NoProgram(f"{self.name} can't be started: {why}: {shlex.join(self._order.command)}")
        self._waiting = asyncio.create_task(self._wait(self._process))

    async def _wait(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        self._hang_up()
        if not self._stopping:
            self.crashes += 1
            ended_for, self._ended_for = self._ended_for, None
            lines = self._last_lines()
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            why = last if ended_for is None and code != 0 else ""
            self._crashed(self, Crash(self.name, ended_for or ending(code), code, self._last_words(lines), why))

    def _last_lines(self) -> list[str]:
        """The end of what this run wrote to its standard output and error."""
        lines: list[str] = []
        with contextlib.suppress(OSError), self.log.open("rb") as file:  # the log may be gone
            size = file.seek(0, os.SEEK_END)
            begins = self._begins if self._begins <= size else 0  # it was begun anew
            file.seek(max(begins, size - 4000))
            lines = file.read().decode(errors="replace").splitlines()[-LAST_LINES:]
        return lines

    def _last_words(self, lines: list[str]) -> str:
        """These lines, and where the rest is."""
        if hidden := _HIDDEN.search("\n".join(lines)):
            lines = [*lines, f"{hidden[1]} has the name of the library, and hides it: rename the file"]
        return "\n  ".join([f"last output, in {self.log}:", *(lines or ["(nothing)"])])

    def end(self, why: str) -> bool:
        """End a run that leads nowhere, as a crash; `why` follows the bot's name. Whether there was one to end."""
        if self._process is None or self._process.returncode is not None or self._ended_for is not None:
            return False
        self._ended_for = why
        self._let_go()
        return True

    async def stop(self, leave_within: float) -> None:
        """End the process: it has some seconds to leave by itself, then is told to, then killed."""
        self._stopping = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        if not await ended(process, leave_within) and self._line is not None:
            with contextlib.suppress(OSError):
                self._line.send(TERMINATE)
        if not await ended(process, TERMINATE_WITHIN):
            self._let_go()
        if not await ended(process, KILL_WITHIN):
            process.kill()  # somebody has stopped the keeper, with which the program ends
            await process.wait()

    def _hang_up(self) -> None:
        self._leave()
        self._leave = lambda: None
        if self._line is not None:
            self._line.close()
            self._line = None

    def _let_go(self) -> None:
        """Say no more to the keeper, which then kills the program and whatever it started."""
        if self._line is not None:
            with contextlib.suppress(OSError):
                self._line.shutdown(socket.SHUT_WR)


async def _answer(line: socket.socket, wanted: bytes) -> tuple[bytes, list[socket.socket]]:
    """What comes over a line up to what is wanted, a failure or its end; and the sockets that came with it."""
    loop = asyncio.get_running_loop()
    said, sockets = b"", []
    while wanted not in said and FAILED not in said:
        readable = asyncio.Event()
        loop.add_reader(line, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(line)
        try:
            more, descriptors, _, _ = socket.recv_fds(line, 64, 1)
        except OSError:
            break
        sockets += [socket.socket(fileno=descriptor) for descriptor in descriptors]
        if not more:
            break
        said += more
    return said, sockets


async def ended(process: asyncio.subprocess.Process, within: float) -> bool:
    """Whether a process ends within some seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            await process.wait()
    return process.returncode is not None


async def keep_running(run: Callable[[], Awaitable[str]], first_wait: float, log: logging.Logger, what: str) -> None:
    """Run a program again and again until this is cancelled; `run` does it once, and says in words how it ended."""
    clock = asyncio.get_running_loop().time
    backoff = Backoff(first_wait, LONGEST_WAIT)
    while True:
        began = clock()
        how = await run()
        if clock() - began >= LONGEST_WAIT:
            backoff.reset()
        wait = backoff.delay()
        log.warning("%s %s; it is started again in %g s", what, how, wait)
        await asyncio.sleep(wait)
