"""Bot processes, which connect to the arena as clients, and a function that keeps a program running."""

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
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from arena.processes.launch_spec import LISTENING_MESSAGE, TERMINATE_MESSAGE, LaunchSpec
from machine.backoff import Backoff
from machine.event_loop import wait_within
from machine.keeper import FAILED_MESSAGE, STARTED_MESSAGE
from machine.subprocesses import describe_exit
from protocol.display import escape_unprintable
from protocol.errors import ArenaFault, os_errors_as

LAST_LINE_COUNT = 8
"""Maximum number of lines from the end of a bot's log that a message about a crash shows."""
MAX_REASON_CHARS = 200
"""Maximum characters of the line that says why a bot's process ended."""
TERMINATE_TIMEOUT_S = 1.0
"""Seconds that a program has to end after it was told to terminate."""
KILL_TIMEOUT_S = 2.0
"""Seconds in which a keeper must kill its program."""
MAX_RESTART_DELAY_S = 60.0
"""Maximum seconds before a program is restarted.

Delays double up to this number. After a run of at least as many seconds, they begin again with the shortest.
"""
_SHADOWED_LIBRARY_PATTERN = re.compile(r"cannot import name .*\bbots\b.*?[('\"]([^('\"]*[/\\]bots\.py)")
"""Matches the error of a bot that imported a file `bots.py` in place of the library `bots`, and captures that file."""
_LAUNCHER_COMMAND = (sys.executable, "-P", "-m", "arena.processes.launcher")
"""The command that starts a keeper: the process that runs a bot's program and kills it when the arena is gone."""


class KeeperProcess(Protocol):
    """The process of a keeper, as asyncio has processes."""

    @property
    def returncode(self) -> int | None: ...

    async def wait(self) -> int: ...

    def kill(self) -> None: ...


StartKeeper = Callable[[dict[str, str], int, int], Awaitable[KeeperProcess]]
"""The type of a function that starts a keeper with an environment. The descriptors are those of the keeper's standard
input, and of its output and errors. It raises `OSError` if that fails.
"""


async def start_keeper(environment: dict[str, str], line: int, output: int) -> KeeperProcess:
    """Start a keeper by its command."""
    return await asyncio.create_subprocess_exec(
        *_LAUNCHER_COMMAND, env=environment, stdin=line, stdout=output, stderr=output, start_new_session=True
    )


class BotCrashed(ArenaFault):
    """Raised if a bot's process ended when it should have played."""


class ProgramNotFound(BotCrashed):
    """Raised if the program of a bot is missing or cannot be run."""


class Crash(NamedTuple):
    """The unexpected end of a bot's process: how it ended, its exit code, and the end of its log."""

    bot: str
    how: str
    code: int
    last_words: str
    last_line: str = ""

    @property
    def why(self) -> str:
        """One line that says why the process ended, with the last line of its output."""
        return escape_unprintable(f"{self.how}: {self.last_line}")[:MAX_REASON_CHARS] if self.last_line else self.how

    def __str__(self) -> str:
        return f"{self.bot} {self.how}; {self.last_words}"


class BotProcess:
    """A bot's process, which can be started again after it has ended.

    Its output is appended to the file `log`, which is rotated if the specification has a `largest_log`. A keeper
    process runs the bot, ends with the bot's exit code, and kills the bot when this process is gone. If the bot's
    sandbox sends a socket, `on_socket` makes the arena listen on that socket, and returns a function that ends the
    listening.
    """

    def __init__(
        self,
        name: str,
        spec: LaunchSpec,
        log: Path,
        on_crash: Callable[[BotProcess, Crash], None],
        on_socket: Callable[[socket.socket], Awaitable[Callable[[], None]]] | None = None,
        start_keeper: StartKeeper = start_keeper,
    ) -> None:
        self.name = name
        self.log = log
        self.crashes = 0
        """Number of crashes since the last call of `reset_crashes`."""
        self._spec = replace(spec, log=str(log))
        self._crashed = on_crash
        self._listen = on_socket
        self._start = start_keeper
        self._stop_listening: Callable[[], None] = lambda: None
        self._line: socket.socket | None = None
        self._process: KeeperProcess | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._stopping = False
        self._kill_reason: str | None = None
        self._log_offset = 0

    def reset_crashes(self) -> None:
        self.crashes = 0

    async def start(self) -> None:
        """Run the program. Do nothing if `stop` was called.

        Raise `BotCrashed` or `ProgramNotFound` if it does not run, `ArenaFault` if the log cannot be written.
        """
        if self._stopping:
            return
        with os_errors_as(ArenaFault, f"the log {self.log} can't be written"):
            self.log.parent.mkdir(parents=True, exist_ok=True)
            errors = self.log.open("ab")
        with errors:
            self._log_offset = errors.tell()
            await self._start_keeper(errors.fileno())

    async def _start_keeper(self, errors: int) -> None:
        """Start a keeper, send it the specification, and watch it until it ends. `errors` is the log's descriptor."""
        with os_errors_as(BotCrashed, f"{self.name} can't be started"):
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            self._line = ours
            with theirs:
                self._process = await self._start(self._spec.environment, theirs.fileno(), errors)
        if self._stopping:
            self._release_keeper()
        with contextlib.suppress(OSError):  # the keeper may have ended, which is noticed below
            await asyncio.get_running_loop().sock_sendall(ours, self._spec.to_line())
        answer, sockets = await _read_answer(ours, LISTENING_MESSAGE if self._spec.sandbox else STARTED_MESSAGE)
        if sockets and self._listen is not None:
            self._stop_listening = await self._listen(sockets[0])
        if FAILED_MESSAGE in answer:
            await self._process.wait()
            self._close_line()
            why = os.strerror(int(answer.partition(FAILED_MESSAGE)[2]))
            raise ProgramNotFound(f"{self.name} can't be started: {why}: {shlex.join(self._spec.command)}")
        self._waiting = asyncio.create_task(self._watch(self._process))

    async def _watch(self, process: KeeperProcess) -> None:
        code = await process.wait()
        self._close_line()
        if not self._stopping:
            self.crashes += 1
            ended_for, self._kill_reason = self._kill_reason, None
            lines = self._last_lines()
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            why = last if ended_for is None and code != 0 else ""
            self._crashed(
                self, Crash(self.name, ended_for or describe_exit(code), code, self._format_last_lines(lines), why)
            )

    def _last_lines(self) -> list[str]:
        lines: list[str] = []
        with contextlib.suppress(OSError), self.log.open("rb") as file:  # the log may be missing
            size = file.seek(0, os.SEEK_END)
            begins = self._log_offset if self._log_offset <= size else 0  # the log was rotated
            file.seek(max(begins, size - 4000))
            lines = file.read().decode(errors="replace").splitlines()[-LAST_LINE_COUNT:]
        return lines

    def _format_last_lines(self, lines: list[str]) -> str:
        """Return the last lines of the log as text below the log's path.

        If a file `bots.py` hides the library `bots`, the text ends with advice.
        """
        if hidden := _SHADOWED_LIBRARY_PATTERN.search("\n".join(lines)):
            lines = [*lines, f"{hidden[1]} has the name of the library, and hides it: rename the file"]
        return "\n  ".join([f"last output, in {self.log}:", *(lines or ["(nothing)"])])

    def kill_as_crash(self, why: str) -> bool:
        """Kill a process that hangs, so that it counts as a crash. Return whether it was running.

        `why` continues a sentence that begins with the bot's name.
        """
        if self._process is None or self._process.returncode is not None or self._kill_reason is not None:
            return False
        self._kill_reason = why
        self._release_keeper()
        return True

    def terminate(self) -> None:
        """Send the program SIGTERM, and go on watching it: it may still have something to finish."""
        if self._line is not None:
            with contextlib.suppress(OSError):
                self._line.send(TERMINATE_MESSAGE)

    async def stop(self, exit_timeout_s: float) -> None:
        """Stop the process: wait up to `exit_timeout_s` seconds for it to exit, then terminate it, then kill it."""
        self._stopping = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        if not await wait_for_exit(process, exit_timeout_s):
            self.terminate()
        if not await wait_for_exit(process, TERMINATE_TIMEOUT_S):
            self._release_keeper()
        if not await wait_for_exit(process, KILL_TIMEOUT_S):
            process.kill()  # the keeper was stopped by a signal; the program ends with it
            await process.wait()

    def _close_line(self) -> None:
        self._stop_listening()
        self._stop_listening = lambda: None
        if self._line is not None:
            self._line.close()
            self._line = None

    def _release_keeper(self) -> None:
        """Close the socket to the keeper. Then the keeper kills the program and its descendants."""
        if self._line is not None:
            with contextlib.suppress(OSError):
                self._line.shutdown(socket.SHUT_WR)


async def _read_answer(line: socket.socket, wanted: bytes) -> tuple[bytes, list[socket.socket]]:
    """Read a keeper's answer until it contains `wanted` or `FAILED_MESSAGE`, or until the keeper closes the socket.

    Return the data, and the sockets that came with it.
    """
    loop = asyncio.get_running_loop()
    said, sockets = b"", []
    while wanted not in said and FAILED_MESSAGE not in said:
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


async def wait_for_exit(process: KeeperProcess, timeout_s: float) -> bool:
    """Wait up to `timeout_s` seconds for a process to end, and return whether it has ended."""
    await wait_within(process.wait(), timeout_s)
    return process.returncode is not None


async def keep_running(
    run: Callable[[], Awaitable[str | None]],
    first_delay_s: float,
    log: logging.Logger,
    name: str,
    stop: asyncio.Event | None = None,
) -> None:
    """Run a program again and again, with a delay after each run, until cancelled or until `stop` is set.

    `run` runs the program until it ends. It returns how it ended, or None if it is not to run again.
    """
    stop = stop or asyncio.Event()
    clock = asyncio.get_running_loop().time
    backoff = Backoff(first_delay_s, MAX_RESTART_DELAY_S)
    while not stop.is_set():
        began = clock()
        how = await run()
        if how is None:
            return
        if clock() - began >= MAX_RESTART_DELAY_S:
            backoff.reset()
        wait = backoff.next_delay()
        log.warning("%s %s; it is restarted in %g s", name, how, wait)
        await wait_within(stop.wait(), wait)
