"""The bots of a local tournament: from the words of the command line to processes that connect as ordinary clients."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

from protocol.errors import ArenaFault, UsageFault
from protocol.messages import NAME_PATTERN

REFERENCE_BOTS = "bot_arena.bots"
"""The entry-point group in which packages offer bots by name."""
MOST_CRASHES = 3
LAST_LINES = 8
LEAVE_WITHIN = 2.0


class BotCrashed(ArenaFault):
    """A bot's process ended when it should have played."""


class Contestant(NamedTuple):
    """A bot under its name in the tournament, and the command that starts it."""

    name: str
    command: tuple[str, ...]
    reference: bool = False
    """Whether it is a reference bot, which plays as many matches at once as it is told to."""


def contestants(words: Sequence[str], defaults: Mapping[str, str]) -> list[Contestant]:
    """The bots that `words` name: `BOT`, `NAME=BOT`, `NAME=BOT:KEY=VALUE,…` or `NAME=COMMAND LINE`.

    `defaults` are settings for every reference bot that knows them. Raises `UsageFault`.
    """
    known = sorted({point.name for point in entry_points(group=REFERENCE_BOTS)})
    found = [_contestant(word, known, defaults) for word in words]
    names = [contestant.name.lower() for contestant in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageFault(f"two bots are called {name!r}: give one another name, like {name}-2={name}")
    if len(found) < 2:
        raise UsageFault(f"a tournament takes two bots or more; there are {', '.join(known)}, or NAME=COMMAND LINE")
    return found


def _contestant(word: str, known: Sequence[str], defaults: Mapping[str, str]) -> Contestant:
    name, equals, what = word.partition("=")
    if not equals or ":" in name:
        name, _, settings = word.partition(":")
        if settings:
            raise UsageFault(f"{word!r} needs a name of its own: {name}-2={word}")
        what = name
    if not re.fullmatch(NAME_PATTERN, name):
        raise UsageFault(f"{name!r} is no bot name: letters, digits, dot, dash and underscore, at most 32")
    bot, _, settings = what.partition(":")
    if bot in known:
        return Contestant(name, _reference(bot, name, settings, defaults), reference=True)
    try:
        command = shlex.split(what)
    except ValueError as exc:
        raise UsageFault(f"{name}: {what!r} is no command line: {str(exc).lower()}") from exc
    if equals and command and shutil.which(command[0]):
        return Contestant(name, tuple(command))
    if equals and (" " in what or "/" in what):
        raise UsageFault(f"{name}: there is no program {command[0] if command else what!r} to run")
    raise UsageFault(f"there is no bot {bot!r}: one of {', '.join(known)}, or NAME=COMMAND LINE for your own")


def _reference(bot: str, name: str, settings: str, defaults: Mapping[str, str]) -> tuple[str, ...]:
    command = [sys.executable, "-m", "bots", "run", bot, "--name", name]
    for setting in _parted(settings) if settings else ():
        key, equals, value = setting.partition("=")
        if not (key and equals and value):
            raise UsageFault(f"{name}: {setting!r} is no setting: write KEY=VALUE, like {name}={bot}:depth=4")
        command += ["--set", setting]
    for key, value in defaults.items():
        command += ["--default", f"{key}={value}"]
    return tuple(command)


def _parted(settings: str) -> list[str]:
    """`depth=4,weights=1,2.5,3` as `depth=4` and `weights=1,2.5,3`: a bare number goes on with the list before it."""
    parted: list[str] = []
    for part in settings.split(","):
        if parted and re.fullmatch(r"-?\d*\.?\d+", part):
            parted[-1] += f",{part}"
        else:
            parted.append(part)
    return parted


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
        self.crashes = 0
        """In a row, without a match finished in between; the tournament resets it."""
        self._command = contestant.command
        self._environment = {**os.environ, **environment}
        self._crashed = crashed
        self._process: asyncio.subprocess.Process | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._stopping = False
        self._ended_for: str | None = None
        self._begins = 0

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
            self.crashes += 1
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
