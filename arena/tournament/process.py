"""A bot's process, which connects to the tournament's arena as any client does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from arena.tournament.contestants import Contestant
from protocol.errors import ArenaFault

LAST_LINES = 8
LEAVE_WITHIN = 2.0


class BotCrashed(ArenaFault):
    """A bot's process ended when it should have played."""


class BotProcess:
    """One contestant's process, started again when it crashes. Its standard error goes to a file, appended."""

    def __init__(
        self,
        contestant: Contestant,
        environment: Mapping[str, str],
        log: Path,
        crashed: Callable[[BotProcess, str], None],
    ) -> None:
        self.name = contestant.name
        self.log = log
        self._crashes = 0
        self._command = contestant.command
        self._environment = {**os.environ, **environment}
        self._crashed = crashed
        self._process: asyncio.subprocess.Process | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._stopping = False
        self._ended_for: str | None = None
        self._begins = 0

    @property
    def crashes(self) -> int:
        """How many there were in a row, without a match finished in between."""
        return self._crashes

    def played(self) -> None:
        """The bot finished a match: crashes are counted anew."""
        self._crashes = 0

    async def start(self) -> None:
        """Run the program, unless told to stop. Raises `BotCrashed` if there is none, `ArenaFault` for its log."""
        if self._stopping:
            return
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            errors = self.log.open("ab")
        except OSError as exc:
            raise ArenaFault(f"the log {self.log} can't be written: {exc.strerror}") from exc
        with errors:
            self._begins = errors.tell()
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command,
                    env=self._environment,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=errors,
                    stderr=errors,
                    start_new_session=True,
                )
            except OSError as exc:
                raise BotCrashed(f"{self.name} can't be started: {exc.strerror}: {shlex.join(self._command)}") from exc
        self._waiting = asyncio.create_task(self._wait(self._process))

    async def _wait(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        if not self._stopping:
            self._crashes += 1
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            how, self._ended_for = self._ended_for or how, None
            self._crashed(self, f"{self.name} {how}; its last words, in {self.log}:\n{self.last_words()}")

    def last_words(self) -> str:
        """The end of what this run wrote to its standard output and error, indented."""
        with self.log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(self._begins, size - 4000))
            lines = file.read().decode(errors="replace").splitlines()[-LAST_LINES:]
        return "\n".join(f"  {line}" for line in lines) or "  (nothing)"

    def end(self, why: str) -> None:
        """End a run that leads nowhere, as a crash; `why` follows the bot's name."""
        if self._process is not None and self._process.returncode is None:
            self._ended_for = why
            self._signal(signal.SIGKILL)

    async def stop(self, leave_within: float = LEAVE_WITHIN) -> None:
        """End the process: it has some seconds to leave by itself, then is told to, then killed."""
        self._stopping = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        try:
            async with asyncio.timeout(leave_within):
                await process.wait()
        except TimeoutError:
            self._signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(1):
                    await process.wait()
            except TimeoutError:
                self._signal(signal.SIGKILL)
                await process.wait()

    def _signal(self, number: signal.Signals) -> None:
        """Tell the program and whatever it started: it leads a process group of its own."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
